// Judges recorded histories for linearizability: `judge [-timeout 60s] build/histories/*.jsonl`.
//
// A history is one line per operation (see `line`). Registers and ids are judged key by key with Porcupine, since
// linearizability is local (Herlihy and Wing, 1990); besides, the ids of one sequence over all its holders.
//
// Exit code 0: all are linearizable; 1: one is not; 2: one can't be read or could not be decided in time.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	exitViolation = 1
	exitUndecided = 2
	shownLines    = 8
)

func main() {
	timeout := flag.Duration("timeout", time.Minute, "for each history")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "name at least one history: judge build/histories/*.jsonl")
		os.Exit(exitUndecided)
	}
	code := 0
	for _, path := range flag.Args() {
		code = max(code, report(path, *timeout))
	}
	os.Exit(code)
}

func report(path string, timeout time.Duration) int {
	lines, err := readFile(path)
	if err != nil {
		fmt.Printf("%s: %v\n", path, err)
		return exitUndecided
	}
	started := time.Now()
	found, err := judge(lines, timeout)
	took := time.Since(started).Seconds()
	if err != nil {
		fmt.Printf("%s: %v (after %.1f s)\n", path, err, took)
		return exitUndecided
	}
	if len(found) > 0 {
		fmt.Printf("%s: NOT linearizable\n%s\n", path, strings.Join(found, "\n"))
		return exitViolation
	}
	fmt.Printf("%s: linearizable: %s (%.1f s)\n", path, summary(lines), took)
	return 0
}

func readFile(path string) ([]line, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

// judge returns what is wrong, each with the operations concerned; an error when it can't tell.
func judge(lines []line, timeout time.Duration) ([]string, error) {
	byKey := map[string][]line{}
	bySequence := map[string][]line{}
	for _, l := range lines {
		byKey[l.Key] = append(byKey[l.Key], l)
		if l.Op == alloc && l.Status == statusOk {
			bySequence[sequenceOf(l.Key)] = append(bySequence[sequenceOf(l.Key)], l)
		}
	}
	var found []string
	for sequence, allocs := range bySequence {
		if wrong := checkSequence(sequence, allocs); wrong != "" {
			found = append(found, wrong)
		}
	}
	deadline := time.Now().Add(timeout)
	for _, key := range sortedKeys(byKey) {
		history, err := prepare(key, byKey[key])
		if err != nil {
			return nil, err
		}
		wrong, err := judgeKey(history, time.Until(deadline))
		if err != nil {
			return found, err
		}
		if wrong != "" {
			found = append(found, wrong)
		}
	}
	return found, nil
}

func judgeKey(history keyHistory, timeout time.Duration) (string, error) {
	// A time-out of 0 would mean none.
	result := porcupine.CheckOperationsTimeout(history.model, history.operations, max(timeout, time.Millisecond))
	switch result {
	case porcupine.Ok:
		return "", nil
	case porcupine.Unknown:
		return "", fmt.Errorf("key %s: not decided in time: use more keys or a longer -timeout", history.key)
	}
	return explain(history), nil
}

// explain shows the end of the longest order that could be made, and the earliest operations that fit nowhere after it.
func explain(history keyHistory) string {
	_, info := porcupine.CheckOperationsVerbose(history.model, history.operations, time.Minute)
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	var left []line
	for i, op := range history.operations {
		if !slices.Contains(longest, i) {
			left = append(left, op.Input.(operation).line)
		}
	}
	slices.SortFunc(left, func(a, b line) int { return int(a.CallNs - b.CallNs) })
	text := []string{fmt.Sprintf("key %s: no order explains it. The longest that could be made ends with", history.key)}
	for _, i := range longest[max(0, len(longest)-shownLines):] {
		text = append(text, "  "+history.operations[i].Input.(operation).String())
	}
	text = append(text, "and none of these can come next:")
	for _, l := range left[:min(len(left), shownLines)] {
		text = append(text, "  "+l.String())
	}
	return strings.Join(text, "\n")
}

func summary(lines []line) string {
	counts := map[string]int{}
	keys := map[string]bool{}
	for _, l := range lines {
		counts[l.Status]++
		keys[l.Key] = true
	}
	return fmt.Sprintf("%d operations on %d keys, %d ok, %d fail, %d unknown",
		len(lines), len(keys), counts[statusOk], counts[statusFail], counts[statusUnknown])
}

func sortedKeys(byKey map[string][]line) []string {
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
