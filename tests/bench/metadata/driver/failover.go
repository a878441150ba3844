package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	// An attempt that was sent without a leader may hang: the next one must not come much later than the new leader.
	attemptTimeout  = 100 * time.Millisecond
	pauseBetween    = 2 * time.Millisecond
	failoverTimeout = 60 * time.Second
)

// A member that was killed is back soon: connections to it are tried often, as by etcd's client.
var reconnectSoon = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: time.Second,
}

// A failoverWriter writes numbered entries; `stored` counts each number that is found, as read from one member.
type failoverWriter interface {
	write(ctx context.Context, member, sequence int) error
	stored(ctx context.Context, member int) (map[int]int, error)
}

type failoverResult struct {
	Acknowledged int `json:"acknowledged"`
	Lost         int `json:"lost"`
	Repeated     int `json:"repeated"`
}

// acks tells whoever waits of each acknowledged attempt: when it was sent, and when it was answered.
type acks struct {
	lock    sync.Mutex
	since   time.Time
	waiting chan time.Time
}

func (a *acks) add(sent, answered time.Time) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.waiting != nil && sent.After(a.since) {
		a.waiting <- answered
		a.waiting = nil
	}
}

// next is answered by the first attempt that is sent from now on and acknowledged.
func (a *acks) next() <-chan time.Time {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.since, a.waiting = time.Now(), make(chan time.Time, 1)
	return a.waiting
}

// measureFailovers writes all the time, one writer for each member, each of which goes on to the next member when an
// attempt fails. `kill <pid>` on stdin kills a process and answers with the time from the kill to the answer of the
// first write that was sent when the process was dead. `end` reads everything back from every member.
func measureFailovers(ctx context.Context, s store, members int) (failoverResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	writers := make([]failoverWriter, members)
	acknowledged := make([]int, members)
	var seen acks
	var running sync.WaitGroup
	for i := range writers {
		w, err := s.failoverWriter(i)
		if err != nil {
			return failoverResult{}, err
		}
		writers[i] = w
		running.Add(1)
		go func() {
			defer running.Done()
			acknowledged[i] = keepWriting(ctx, w, i, members, &seen)
		}()
	}
	if err := obey(bufio.NewScanner(os.Stdin), &seen); err != nil {
		return failoverResult{}, err
	}
	stop()
	running.Wait()
	var result failoverResult
	for i, w := range writers {
		result.Acknowledged += acknowledged[i]
		for member := range members {
			if err := count(w, member, acknowledged[i], &result); err != nil {
				return result, err
			}
		}
	}
	return result, nil
}

// keepWriting returns how many entries were acknowledged: those numbered from 0 up to that, without a gap.
func keepWriting(ctx context.Context, w failoverWriter, member, members int, seen *acks) int {
	for sequence := 0; ; sequence++ {
		for {
			if ctx.Err() != nil {
				return sequence
			}
			attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
			sent := time.Now()
			err := w.write(attempt, member, sequence)
			cancel()
			if err == nil {
				seen.add(sent, time.Now())
				break
			}
			member = (member + 1) % members
			time.Sleep(pauseBetween)
		}
		time.Sleep(pauseBetween)
	}
}

func obey(commands *bufio.Scanner, seen *acks) error {
	for commands.Scan() {
		var pid int
		if strings.TrimSpace(commands.Text()) == "end" {
			return nil
		}
		if _, err := fmt.Sscanf(commands.Text(), "kill %d", &pid); err != nil {
			return fmt.Errorf("%q is no command: use `kill <pid>` or `end`", commands.Text())
		}
		taken, err := failover(pid, seen)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(map[string]float64{"failover_ms": milliseconds(taken)}); err != nil {
			return err
		}
	}
	return commands.Err()
}

func failover(pid int, seen *acks) (time.Duration, error) {
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("killing %d: %w", pid, err)
	}
	for !isDead(pid) {
		time.Sleep(time.Millisecond)
	}
	select {
	case answered := <-seen.next():
		return answered.Sub(killed), nil
	case <-time.After(failoverTimeout):
		return 0, fmt.Errorf("no write was acknowledged within %v of killing %d", failoverTimeout, pid)
	}
}

// isDead: gone, or a zombie that its parent has not looked at yet.
func isDead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	fields := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.HasPrefix(strings.TrimSpace(fields), "Z")
}

func count(w failoverWriter, member, acknowledged int, result *failoverResult) error {
	ctx, cancel := context.WithTimeout(context.Background(), failoverTimeout)
	defer cancel()
	stored, err := w.stored(ctx, member)
	if err != nil {
		return fmt.Errorf("reading back from member %d: %w", member, err)
	}
	for sequence := range acknowledged {
		switch stored[sequence] {
		case 0:
			result.Lost++
		case 1:
		default:
			result.Repeated++
		}
	}
	return nil
}
