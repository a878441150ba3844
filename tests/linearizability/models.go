package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// What Porcupine steps through. Writes of unknown outcome would stay concurrent with all that follows, and the search
// would grow with the power set of them. So each is replaced, before the search, by what it can explain:
//
//   - its value was read: it happened, at the latest when the first such read returned;
//   - nobody read it: it can only be the reason why a compare-and-set did not match, or why a highest id is above all
//     that are known to be given. Such an operation uses up one of the unseen writes that were called before it returned;
//     an unseen compare-and-set explains what follows its expected revision only, which never comes again.
type operation struct {
	line
	unseen    int  // puts or allocations that nobody saw, and that may have taken effect by now
	unseenCas bool // whether there is an unseen compare-and-set of the same expected revision
}

type registerState struct {
	value    string
	revision uint64 // 0: not there
	isUnseen bool   // overwritten by a write that nobody saw: above `revision`
	used     int
}

var registerModel = porcupine.Model{
	Init: func() any { return registerState{} },
	Step: func(state, input, _ any) (bool, any) {
		return stepRegister(state.(registerState), input.(operation))
	},
}

func stepRegister(state registerState, op operation) (bool, any) {
	written := registerState{revision: op.Output.Revision, used: state.used}
	if op.Input.Value != nil {
		written.value = *op.Input.Value
	}
	isMatch := !state.isUnseen && op.Input.Expected == state.revision
	switch {
	case op.Op == get:
		isThere := op.Output.Value != nil
		same := op.Output.Revision == state.revision && isThere == (state.revision != 0)
		return !state.isUnseen && same && (!isThere || *op.Output.Value == state.value), state
	case op.Op == put:
		return op.Output.Revision > state.revision, written
	case op.Output.Revision != 0: // a compare-and-set that matched
		return isMatch && op.Output.Revision > state.revision, written
	case !isMatch:
		return true, state
	case op.unseenCas:
		return true, registerState{revision: state.revision, isUnseen: true, used: state.used}
	default: // it ought to have matched, unless a put that nobody saw came between
		return state.used < op.unseen, registerState{revision: state.revision, isUnseen: true, used: state.used + 1}
	}
}

type idsState struct {
	highest uint64
	used    int
}

var idsModel = porcupine.Model{
	Init: func() any { return idsState{} },
	Step: func(state, input, _ any) (bool, any) { return stepIds(state.(idsState), input.(operation)) },
}

func stepIds(state idsState, op operation) (bool, any) {
	switch {
	case op.Op == alloc:
		return op.Output.First > state.highest, idsState{op.Output.First + op.Input.Count - 1, state.used}
	case op.Output.Highest == state.highest:
		return true, state
	default:
		return op.Output.Highest > state.highest && state.used < op.unseen, idsState{op.Output.Highest, state.used + 1}
	}
}

// keyHistory is what Porcupine gets for one key. It refuses a history that it can't judge.
type keyHistory struct {
	key        string
	model      porcupine.Model
	operations []porcupine.Operation
}

func prepare(key string, lines []line) (keyHistory, error) {
	isRegister := isRegisterOp[lines[0].Op]
	for _, l := range lines {
		if isRegisterOp[l.Op] != isRegister {
			return keyHistory{}, fmt.Errorf("key %s is used both as a register and for ids", key)
		}
	}
	if !isRegister {
		return keyHistory{key, idsModel, operations(lines)}, nil
	}
	resolved, err := resolve(key, lines)
	return keyHistory{key, registerModel, operations(resolved)}, err
}

// resolve turns unknown writes whose value was read into writes that happened.
func resolve(key string, lines []line) ([]line, error) {
	type sight struct {
		revision uint64
		returnNs int64
	}
	first := map[string]sight{}
	written := map[string]bool{}
	for _, l := range lines {
		switch {
		case l.isWrite():
			if written[*l.Input.Value] {
				return nil, fmt.Errorf("key %s: the value %q is written twice, so a read of it is ambiguous", key, *l.Input.Value)
			}
			written[*l.Input.Value] = true
		case l.Op == get && l.Status == statusOk && l.Output.Value != nil:
			seen, ok := first[*l.Output.Value]
			if !ok || l.ReturnNs < seen.returnNs {
				first[*l.Output.Value] = sight{l.Output.Revision, l.ReturnNs}
			}
		}
	}
	resolved := slices.Clone(lines)
	for i, l := range resolved {
		if l.Status != statusUnknown || !l.isWrite() {
			continue
		}
		if seen, ok := first[*l.Input.Value]; ok {
			resolved[i].Status = statusOk
			resolved[i].Output.Revision = seen.revision
			resolved[i].ReturnNs = max(seen.returnNs, l.CallNs) // seen before its call: left for the search to refuse
		}
	}
	return resolved, nil
}

func operations(lines []line) []porcupine.Operation {
	var unseen []line
	for _, l := range lines {
		if l.isWrite() && l.Status == statusUnknown {
			unseen = append(unseen, l)
		}
	}
	var made []porcupine.Operation
	for _, l := range lines {
		if l.Status == statusOk {
			made = append(made, porcupine.Operation{Input: withUnseen(l, unseen), Call: l.CallNs, Return: l.ReturnNs})
		}
	}
	return made
}

func withUnseen(l line, unseen []line) operation {
	op := operation{line: l}
	for _, write := range unseen {
		switch {
		case write.CallNs > l.ReturnNs:
		case write.Op != cas:
			op.unseen++
		case write.Input.Expected == l.Input.Expected:
			op.unseenCas = true
		}
	}
	return op
}

// checkSequence judges allocation over all holders of one sequence. Acknowledged ids have one possible order, their own;
// it must be an order in time as well. Returns what is wrong, or "".
func checkSequence(sequence string, allocs []line) string {
	slices.SortFunc(allocs, func(a, b line) int { return cmp.Compare(a.Output.First, b.Output.First) })
	var latest line // of those with smaller ids, the one that was called last
	for i, l := range allocs {
		if l.Output.First == 0 {
			return fmt.Sprintf("%s: an id of 0 was given: %v", sequence, l)
		}
		if i == 0 {
			latest = l
			continue
		}
		previous := allocs[i-1]
		if previous.Output.First+previous.Input.Count > l.Output.First {
			return fmt.Sprintf("%s: ids were given twice:\n  %v\n  %v", sequence, previous, l)
		}
		if l.ReturnNs < latest.CallNs {
			return fmt.Sprintf("%s: a later call got smaller ids:\n  %v\n  %v", sequence, l, latest)
		}
		if l.CallNs > latest.CallNs {
			latest = l
		}
	}
	return ""
}

func sequenceOf(key string) string {
	sequence, _, _ := strings.Cut(key, "/")
	return sequence
}
