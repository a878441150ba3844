package main

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"
)

func text(value string) *string { return &value }

func putOp(key, value string, revision uint64, call, ret int64) line {
	return line{Op: put, Key: key, Input: payload{Value: text(value)}, Output: payload{Revision: revision},
		CallNs: call, ReturnNs: ret, Status: statusOk}
}

func getOp(key, value string, revision uint64, call, ret int64) line {
	l := line{Op: get, Key: key, CallNs: call, ReturnNs: ret, Status: statusOk}
	if revision != 0 {
		l.Output = payload{Value: text(value), Revision: revision}
	}
	return l
}

func casOp(key, value string, expected, revision uint64, call, ret int64) line {
	return line{Op: cas, Key: key, Input: payload{Value: text(value), Expected: expected},
		Output: payload{Revision: revision}, CallNs: call, ReturnNs: ret, Status: statusOk}
}

func allocOp(key string, first, count uint64, call, ret int64) line {
	return line{Op: alloc, Key: key, Input: payload{Count: count}, Output: payload{First: first},
		CallNs: call, ReturnNs: ret, Status: statusOk}
}

func maxOp(key string, highest uint64, call, ret int64) line {
	return line{Op: readMax, Key: key, Output: payload{Highest: highest}, CallNs: call, ReturnNs: ret, Status: statusOk}
}

// unknown is the operation without an answer.
func unknown(l line) line {
	l.Status, l.Output, l.ReturnNs = statusUnknown, payload{}, 0
	return l
}

func fail(l line) line {
	l.Status, l.Output = statusFail, payload{}
	return l
}

func TestWhatIsNotLinearizableIsRejected(t *testing.T) {
	for name, lines := range map[string][]line{
		"a stale read":                         {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 4), getOp("r", "a", 1, 5, 6)},
		"a read of nothing after a write":      {putOp("r", "a", 1, 1, 2), getOp("r", "", 0, 3, 4)},
		"a lost write":                         {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 4), getOp("r", "a", 1, 5, 6), getOp("r", "a", 1, 7, 8)},
		"reads that go back":                   {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 20), getOp("r", "b", 2, 5, 6), getOp("r", "a", 1, 7, 8)},
		"a read of what was never written":     {putOp("r", "a", 1, 1, 2), getOp("r", "z", 1, 3, 4)},
		"a read before its write was called":   {getOp("r", "a", 1, 1, 2), putOp("r", "a", 1, 3, 4)},
		"a revision that goes back":            {putOp("r", "a", 5, 1, 2), putOp("r", "b", 4, 3, 4)},
		"a value under another revision":       {putOp("r", "a", 1, 1, 2), getOp("r", "a", 2, 3, 4)},
		"two cas on one revision":              {putOp("r", "a", 1, 1, 2), casOp("r", "b", 1, 2, 3, 9), casOp("r", "c", 1, 3, 3, 9)},
		"two cas that made it, one after each": {casOp("r", "b", 0, 2, 3, 4), casOp("r", "c", 0, 3, 5, 6)},
		"a cas that failed for no reason":      {putOp("r", "a", 1, 1, 2), casOp("r", "b", 1, 0, 3, 4)},
		"a cas that failed, and yet was seen":  {putOp("r", "a", 1, 1, 2), fail(casOp("r", "b", 1, 0, 3, 4)), getOp("r", "b", 2, 5, 6)},
		"a failed put that was seen":           {fail(putOp("r", "a", 0, 1, 2)), getOp("r", "a", 1, 3, 4)},
		"an unknown put that came and went": {putOp("r", "a", 1, 1, 2), unknown(putOp("r", "b", 0, 3, 0)), getOp("r", "b", 2, 5, 6),
			getOp("r", "a", 1, 7, 8)},
		"an unknown put that happened twice": {unknown(putOp("r", "b", 0, 1, 0)), getOp("r", "b", 1, 2, 3), putOp("r", "a", 2, 4, 5),
			getOp("r", "b", 3, 6, 7)},
		"an unknown put that was seen before": {getOp("r", "b", 1, 2, 3), unknown(putOp("r", "b", 0, 4, 0))},
		"an unknown cas that did not match": {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 4), unknown(casOp("r", "c", 1, 0, 5, 0)),
			getOp("r", "c", 3, 6, 7)},
		"one unseen write for two failed cas": {putOp("r", "a", 1, 1, 2), unknown(putOp("r", "b", 0, 3, 0)), casOp("r", "c", 1, 0, 5, 6),
			putOp("r", "d", 9, 7, 8), casOp("r", "e", 9, 0, 9, 10)},
		"an id given twice":                       {allocOp("s/a", 1, 10, 1, 2), allocOp("s/a", 1, 10, 3, 4)},
		"overlapping ids":                         {allocOp("s/a", 1, 10, 1, 5), allocOp("s/a", 10, 10, 1, 5)},
		"an id given to two holders":              {allocOp("s/a", 1, 10, 1, 5), allocOp("s/b", 5, 10, 1, 5)},
		"smaller ids later":                       {allocOp("s/a", 11, 10, 1, 2), allocOp("s/a", 1, 10, 3, 4)},
		"smaller ids later, of another holder":    {allocOp("s/a", 11, 10, 1, 2), allocOp("s/b", 1, 10, 3, 4)},
		"the id 0":                                {allocOp("s/a", 0, 10, 1, 2)},
		"read_max going back":                     {allocOp("s/a", 1, 1, 1, 2), allocOp("s/a", 2, 1, 3, 9), maxOp("s/a", 2, 4, 5), maxOp("s/a", 1, 6, 7)},
		"read_max behind":                         {allocOp("s/a", 1, 1, 1, 2), allocOp("s/a", 2, 1, 3, 4), maxOp("s/a", 1, 5, 6)},
		"read_max of what nobody got":             {allocOp("s/a", 1, 1, 1, 2), maxOp("s/a", 7, 3, 4)},
		"read_max above one unknown alloc, twice": {unknown(allocOp("s/a", 0, 1, 1, 0)), maxOp("s/a", 1, 2, 3), maxOp("s/a", 2, 4, 5)},
		"read_max before the unknown alloc":       {maxOp("s/a", 1, 2, 3), unknown(allocOp("s/a", 0, 1, 4, 0))},
	} {
		t.Run(name, func(t *testing.T) {
			if found, err := judge(lines, time.Minute); err != nil || len(found) == 0 {
				t.Fatalf("accepted: %v %v", found, err)
			}
		})
	}
}

func TestWhatIsLinearizableIsAccepted(t *testing.T) {
	for name, lines := range map[string][]line{
		"nothing":                         {},
		"a read of nothing":               {getOp("r", "", 0, 1, 2)},
		"a read beside a write, old":      {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 9), getOp("r", "a", 1, 4, 5)},
		"a read beside a write, new":      {putOp("r", "a", 1, 1, 2), putOp("r", "b", 2, 3, 9), getOp("r", "b", 2, 4, 5)},
		"two writes beside each other":    {putOp("r", "a", 2, 1, 9), putOp("r", "b", 1, 1, 9), getOp("r", "a", 2, 10, 11)},
		"cas, one of two":                 {casOp("r", "a", 0, 1, 1, 9), casOp("r", "b", 0, 0, 1, 9), getOp("r", "a", 1, 10, 11)},
		"keys apart":                      {putOp("r", "a", 1, 1, 2), getOp("q", "", 0, 3, 4)},
		"a failed put":                    {putOp("r", "a", 1, 1, 2), fail(putOp("r", "b", 0, 3, 4)), getOp("r", "a", 1, 5, 6)},
		"a failed read":                   {putOp("r", "a", 1, 1, 2), fail(getOp("r", "", 0, 3, 4)), unknown(getOp("r", "", 0, 3, 4))},
		"an unknown put, never":           {putOp("r", "a", 1, 1, 2), unknown(putOp("r", "b", 0, 3, 0)), getOp("r", "a", 1, 5, 6)},
		"an unknown put, much later":      {unknown(putOp("r", "b", 0, 3, 0)), putOp("r", "a", 1, 4, 5), getOp("r", "a", 1, 6, 7), getOp("r", "b", 2, 8, 9)},
		"an unknown put, overwritten":     {unknown(putOp("r", "b", 0, 1, 0)), getOp("r", "b", 1, 2, 3), putOp("r", "a", 2, 4, 5), getOp("r", "a", 2, 6, 7)},
		"an unknown cas, done":            {putOp("r", "a", 1, 1, 2), unknown(casOp("r", "b", 1, 0, 3, 0)), getOp("r", "b", 2, 5, 6)},
		"a cas failed by an unseen put":   {putOp("r", "a", 1, 1, 2), unknown(putOp("r", "b", 0, 3, 0)), casOp("r", "c", 1, 0, 5, 6), putOp("r", "d", 3, 7, 8)},
		"ids, also of two holders":        {allocOp("s/a", 1, 10, 1, 2), allocOp("s/b", 11, 5, 3, 4), allocOp("s/a", 16, 1, 5, 6)},
		"ids beside each other":           {allocOp("s/a", 11, 10, 1, 5), allocOp("s/a", 1, 10, 1, 5)},
		"ids of two sequences":            {allocOp("s/a", 1, 10, 1, 2), allocOp("q/a", 1, 10, 3, 4)},
		"read_max of an unknown alloc":    {allocOp("s/a", 1, 2, 1, 2), unknown(allocOp("s/a", 0, 2, 3, 0)), maxOp("s/a", 2, 4, 5), maxOp("s/a", 4, 6, 7)},
		"read_max, none":                  {maxOp("s/a", 0, 1, 2), allocOp("s/a", 3, 2, 3, 4), maxOp("s/a", 4, 5, 6)},
		"ids after an unknown allocation": {unknown(allocOp("s/a", 0, 10, 1, 0)), allocOp("s/a", 11, 10, 3, 4)},
		"a cas failed by an unseen cas": {putOp("r", "a", 1, 1, 2), unknown(casOp("r", "b", 1, 0, 3, 0)), casOp("r", "c", 1, 0, 5, 6),
			putOp("r", "d", 3, 7, 8), unknown(casOp("r", "e", 3, 0, 9, 0)), casOp("r", "f", 3, 0, 10, 11), casOp("r", "g", 3, 0, 12, 13)},
	} {
		t.Run(name, func(t *testing.T) {
			if found, err := judge(lines, time.Minute); err != nil || len(found) != 0 {
				t.Fatalf("%v %v", found, err)
			}
		})
	}
}

func TestAHistoryThatCanNotBeJudgedIsAnError(t *testing.T) {
	for name, source := range map[string]string{
		"no JSON":        "put",
		"no op":          `{"key":"a","status":"ok"}`,
		"another status": `{"op":"get","key":"a","status":"maybe"}`,
		"no key":         `{"op":"get","status":"ok"}`,
		"time goes back": `{"op":"get","key":"a","status":"ok","call_ns":2,"return_ns":1}`,
		"no value":       `{"op":"put","key":"a","status":"ok"}`,
		"no count":       `{"op":"alloc","key":"a","status":"ok"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(strings.NewReader(source)); err == nil {
				t.Fatal("was read")
			}
		})
	}
	for name, lines := range map[string][]line{
		"a value written twice": {putOp("r", "a", 1, 1, 2), putOp("r", "a", 2, 3, 4)},
		"two uses of a key":     {putOp("r", "a", 1, 1, 2), allocOp("r", 1, 1, 3, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := judge(lines, time.Minute); err == nil {
				t.Fatal("was judged")
			}
		})
	}
}

// world is a correct register store and id allocator; its clients overlap, and some never learn what became of a write.
type world struct {
	random    *rand.Rand
	now       int64
	revision  uint64
	ids       uint64
	registers map[string]payload
	highest   map[string]uint64
}

func (w *world) apply(l *line) {
	stored := w.registers[l.Key]
	switch l.Op {
	case get:
		l.Output = stored
	case put:
		w.revision++
		l.Output.Revision = w.revision
	case cas:
		if l.Input.Expected == stored.Revision {
			w.revision++
			l.Output.Revision = w.revision
		}
	case alloc:
		l.Output.First = w.ids + 1
		w.ids += l.Input.Count
		w.highest[l.Key] = w.ids
	case readMax:
		l.Output.Highest = w.highest[l.Key]
	}
	if (l.Op == put || l.Op == cas) && l.Output.Revision != 0 {
		w.registers[l.Key] = payload{Value: l.Input.Value, Revision: l.Output.Revision}
	}
}

// history makes operations of `clients` clients in rounds: each calls, all take effect in some order, each returns.
func history(seed int64, count, clients, keys int, lossy float64) []line {
	w := world{rand.New(rand.NewSource(seed)), 0, 0, 0, map[string]payload{}, map[string]uint64{}}
	var lines, late []line
	lastSeen := map[string]uint64{}
	for len(lines) < count {
		var round []line
		for client := range clients {
			l := line{Client: client, Status: statusOk, CallNs: w.now + w.random.Int63n(100)}
			if w.random.Intn(4) == 0 {
				l.Op, l.Key = []string{alloc, readMax}[w.random.Intn(2)], fmt.Sprintf("s/%d", w.random.Intn(keys))
				l.Input.Count = uint64(1 + w.random.Intn(5))
			} else {
				l.Op, l.Key = []string{put, get, cas}[w.random.Intn(3)], fmt.Sprintf("r%d", w.random.Intn(keys))
			}
			if l.Op == put || l.Op == cas {
				l.Input.Value = text(fmt.Sprintf("%d-%d", len(lines)+len(late), client))
			}
			if l.Op == cas {
				l.Input.Expected = lastSeen[l.Key]
			}
			round = append(round, l)
		}
		for _, i := range w.random.Perm(len(round)) {
			isLost := round[i].isWrite() && w.random.Float64() < lossy
			if isLost && w.random.Intn(2) == 0 { // it never happens, or rounds later
				round[i] = unknown(round[i])
				late = append(late, round[i])
				continue
			}
			w.apply(&round[i])
			if round[i].Output.Revision != 0 && !isLost { // a revision is learned from an answer only
				lastSeen[round[i].Key] = round[i].Output.Revision
			}
			round[i].ReturnNs = w.now + 100 + w.random.Int63n(100)
			if isLost {
				round[i] = unknown(round[i])
			}
		}
		if len(late) > 0 && w.random.Intn(3) == 0 {
			i := w.random.Intn(len(late))
			w.apply(&late[i])
			late = slices.Delete(late, i, i+1)
		}
		lines = append(lines, round...)
		w.now += 200
	}
	return lines
}

func TestRandomHistoriesOfACorrectStoreAreAccepted(t *testing.T) {
	for seed := range int64(200) {
		found, err := judge(history(seed, 400, 8, 3, 0.1), time.Minute)
		if err != nil || len(found) != 0 {
			t.Fatalf("seed %d: %v %v", seed, found, err)
		}
	}
}

func TestARandomHistoryWithOneReadOfAnOlderStateIsRejected(t *testing.T) {
	rejected := 0
	for seed := range int64(100) {
		lines := history(seed, 400, 8, 3, 0.05)
		planted := false
		for i := len(lines) - 1; i >= 0 && !planted; i-- {
			for j := range lines {
				// An acknowledged read becomes one of an older value that another read had replaced long before.
				if l := lines[i]; l.Op == get && l.Status == statusOk && lines[j].Op == get && lines[j].Key == l.Key &&
					lines[j].Output.Revision != 0 && lines[j].Output.Revision+100 < l.Output.Revision {
					lines[i].Output, planted = lines[j].Output, true
					break
				}
			}
		}
		if !planted {
			t.Fatalf("seed %d: nothing to plant", seed)
		}
		if found, err := judge(lines, time.Minute); err == nil && len(found) > 0 {
			rejected++
		}
	}
	if rejected != 100 {
		t.Fatalf("only %d of 100 were rejected", rejected)
	}
}

func TestAHundredThousandOperationsAreJudgedInSeconds(t *testing.T) {
	lines := history(1, 100_000, 32, 100, 0.02)
	started := time.Now()
	found, err := judge(lines, time.Minute)
	if err != nil || len(found) != 0 {
		t.Fatalf("%v %v", found, err)
	}
	t.Logf("%d operations in %v", len(lines), time.Since(started))
	lines[len(lines)/2] = line{Op: get, Key: "r1", Status: statusOk, CallNs: lines[len(lines)/2].CallNs,
		ReturnNs: lines[len(lines)/2].CallNs + 1}
	if found, err := judge(lines, time.Minute); err != nil || len(found) == 0 {
		t.Fatalf("accepted: %v %v", found, err)
	}
}
