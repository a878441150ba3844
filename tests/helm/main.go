// helmcheck lints and renders a chart as helm does, and reads what came out as Kubernetes does: a field that the API does
// not know, or one of another type, is an error.
//
//	helmcheck CHART [VALUES.yaml ...]    prints the manifests
package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: helmcheck CHART [VALUES.yaml ...]"))
	}
	manifests, err := check(os.Args[1], os.Args[2:])
	if err != nil {
		fail(err)
	}
	for _, manifest := range manifests {
		fmt.Printf("---\n%s\n", manifest)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func check(folder string, files []string) ([]string, error) {
	given := map[string]any{}
	for _, file := range files {
		read, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, err
		}
		given = chartutil.CoalesceTables(read, given)
	}
	result := lint.AllWithKubeVersion(folder, given, "kafka", nil)
	for _, message := range result.Messages {
		if message.Severity >= support.WarningSev {
			return nil, fmt.Errorf("lint: %w", message)
		}
	}
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "guardian", Namespace: "kafka", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	return strict(rendered)
}

// strict decodes every manifest into its type and refuses unknown fields.
func strict(rendered map[string]string) ([]string, error) {
	names := make([]string, 0, len(rendered))
	for name := range rendered {
		names = append(names, name)
	}
	sort.Strings(names)
	decoder := json.NewSerializerWithOptions(
		json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	var manifests []string
	for _, name := range names {
		if path.Ext(name) != ".yaml" {
			continue
		}
		parts := releaseutil.SplitManifests(rendered[name])
		keys := make([]string, 0, len(parts))
		for key := range parts {
			keys = append(keys, key)
		}
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for _, key := range keys {
			text := strings.TrimSpace(parts[key])
			if text == "" {
				continue
			}
			if _, _, err := decoder.Decode([]byte(text), nil, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			manifests = append(manifests, text)
		}
	}
	return manifests, nil
}
