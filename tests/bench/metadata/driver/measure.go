package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Neither connections nor caches are cold when counting begins.
const warmUp = 500 * time.Millisecond

type latencies struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

type writeResult struct {
	latencies
	Rate    float64 `json:"rate"`    // entries acknowledged per second
	Written int     `json:"written"` // entries, the warm-up's too
	CPU     float64 `json:"cpu_us"`  // of this process, for an entry
}

type loadResult struct {
	Entries int     `json:"entries"`
	Seconds float64 `json:"seconds"`
}

type pullResult struct {
	latencies
	Times int `json:"times"`
}

// measureWrites keeps o.inFlight batches under way and counts what is acknowledged after the warm-up.
func measureWrites(ctx context.Context, s store, o options) (writeResult, error) {
	writers, err := s.writers(o.inFlight)
	if err != nil {
		return writeResult{}, err
	}
	from := time.Now().Add(warmUp)
	until := from.Add(time.Duration(o.seconds * float64(time.Second)))
	taken := make([][]time.Duration, len(writers))
	var batches atomic.Int64
	usedBefore := cpuTime()
	err = together(len(writers), func(i int) error {
		for {
			sent := time.Now()
			if !sent.Before(until) {
				return nil
			}
			if err := writers[i].write(ctx, o.batch); err != nil {
				return err
			}
			batches.Add(1)
			if answered := time.Now(); answered.After(from) && answered.Before(until) {
				taken[i] = append(taken[i], answered.Sub(sent))
			}
		}
	})
	if err != nil {
		return writeResult{}, err
	}
	var all []time.Duration
	for _, some := range taken {
		all = append(all, some...)
	}
	if len(all) == 0 {
		return writeResult{}, fmt.Errorf("nothing was acknowledged within %.1f s", o.seconds)
	}
	written := int(batches.Load()) * o.batch
	used := float64(cpuTime()-usedBefore) / float64(time.Microsecond)
	return writeResult{summary(all), float64(len(all)*o.batch) / o.seconds, written, used / float64(written)}, nil
}

func measureLoad(ctx context.Context, s store, o options) (loadResult, error) {
	start := time.Now()
	if err := s.load(ctx, o.events, o.pulled); err != nil {
		return loadResult{}, err
	}
	return loadResult{o.events, time.Since(start).Seconds()}, nil
}

// measurePulls asks the members in turn, one pull at a time, each from another place on.
func measurePulls(ctx context.Context, s store, o options) (pullResult, error) {
	if o.pulled < o.count {
		return pullResult{}, fmt.Errorf("-pulled is %d: load, and give here, at least the %d of -count", o.pulled, o.count)
	}
	const stride = 7919 // a prime: no place comes twice
	var taken []time.Duration
	for i := -len(o.endpoints); i < o.times; i++ {
		number := i + len(o.endpoints)
		first := number * stride % (o.pulled - o.count + 1)
		start := time.Now()
		got, err := s.pull(ctx, number%len(o.endpoints), first, o.count)
		if err != nil {
			return pullResult{}, err
		}
		if got != o.count {
			return pullResult{}, fmt.Errorf("a pull of %d entries returned %d", o.count, got)
		}
		if i >= 0 { // before: each member once, to connect
			taken = append(taken, time.Since(start))
		}
	}
	return pullResult{summary(taken), len(taken)}, nil
}

// together runs n functions at once and returns the first error.
func together(n int, each func(i int) error) error {
	var group sync.WaitGroup
	errors := make(chan error, n)
	for i := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := each(i); err != nil {
				errors <- err
			}
		}()
	}
	group.Wait()
	close(errors)
	return <-errors
}

func summary(taken []time.Duration) latencies {
	sort.Slice(taken, func(i, j int) bool { return taken[i] < taken[j] })
	at := func(share float64) float64 {
		return milliseconds(taken[min(len(taken)-1, int(share*float64(len(taken))))])
	}
	return latencies{at(0.5), at(0.99), milliseconds(taken[len(taken)-1])}
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // never fails for this process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
