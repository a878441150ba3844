package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// One line of a history. Times are of one monotonic clock, in nanoseconds.
//
//	put       input {"value"}              output {"revision"}
//	get       no input                     output {"value", "revision"}; value null and revision 0: it is not there
//	cas       input {"value", "expected"}  output {"revision"}; 0: the stored revision was another one, nothing changed
//	alloc     input {"count"}              output {"first"}: first .. first + count - 1
//	read_max  no input                     output {"highest"}; 0: none was allocated
//
// A write of status `unknown` may have happened at any time after its call, or never; one of status `fail` did not.
// A value is written once only to a key, so that a get says which write it saw. The key of alloc and read_max is
// "sequence/holder": ids of one sequence are never given twice and rise over all its holders.
type line struct {
	Client   any     `json:"client"`
	Op       string  `json:"op"`
	Key      string  `json:"key"`
	Input    payload `json:"input"`
	Output   payload `json:"output"`
	CallNs   int64   `json:"call_ns"`
	ReturnNs int64   `json:"return_ns"`
	Status   string  `json:"status"`
}

type payload struct {
	Value    *string `json:"value"`
	Revision uint64  `json:"revision"`
	Expected uint64  `json:"expected"`
	Count    uint64  `json:"count"`
	First    uint64  `json:"first"`
	Highest  uint64  `json:"highest"`
}

const (
	put     = "put"
	get     = "get"
	cas     = "cas"
	alloc   = "alloc"
	readMax = "read_max"

	statusOk      = "ok"
	statusFail    = "fail"
	statusUnknown = "unknown"
)

var isRegisterOp = map[string]bool{put: true, get: true, cas: true, alloc: false, readMax: false}

func (l line) isWrite() bool { return l.Op == put || l.Op == cas || l.Op == alloc }

func (l line) String() string {
	text, err := json.Marshal(map[string]any{
		"client": l.Client, "op": l.Op, "key": l.Key, "input": l.Input.fields(), "output": l.Output.fields(),
		"call_ns": l.CallNs, "return_ns": l.ReturnNs, "status": l.Status,
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fields are those that say something.
func (p payload) fields() map[string]any {
	shown := map[string]any{}
	if p.Value != nil {
		shown["value"] = *p.Value
	}
	for name, number := range map[string]uint64{
		"revision": p.Revision, "expected": p.Expected, "count": p.Count, "first": p.First, "highest": p.Highest,
	} {
		if number != 0 {
			shown[name] = number
		}
	}
	return shown
}

// read returns the operations of a history, or an error that names the line.
func read(source io.Reader) ([]line, error) {
	var lines []line
	scanner := bufio.NewScanner(source)
	scanner.Buffer(make([]byte, 1<<16), 1<<20)
	for number := 1; scanner.Scan(); number++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d is no operation: %w", number, err)
		}
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		lines = append(lines, l)
	}
	return lines, scanner.Err()
}

func (l line) check() error {
	if _, known := isRegisterOp[l.Op]; !known {
		return fmt.Errorf("op is %q: use put, get, cas, alloc or read_max", l.Op)
	}
	if l.Key == "" {
		return fmt.Errorf("key is empty: name the register or the sequence")
	}
	switch l.Status {
	case statusOk:
		if l.ReturnNs < l.CallNs {
			return fmt.Errorf("return_ns is %d, before call_ns %d", l.ReturnNs, l.CallNs)
		}
	case statusFail, statusUnknown:
	default:
		return fmt.Errorf("status is %q: use ok, fail or unknown", l.Status)
	}
	if (l.Op == put || l.Op == cas) && l.Input.Value == nil {
		return fmt.Errorf("%s has no input.value", l.Op)
	}
	if l.Op == alloc && l.Input.Count == 0 {
		return fmt.Errorf("alloc has no input.count")
	}
	return nil
}
