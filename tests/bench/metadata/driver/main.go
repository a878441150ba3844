// The driver of `make bench-metadata`: loads Guardian and etcd in the same way, in Go, so that the client holds neither
// back, and measures at the client. It prints one JSON object per measurement.
//
//	driver write    -store etcd -endpoints 127.0.0.1:2379 -in-flight 16 -batch 100 -seconds 3
//	driver load     -store guardian -endpoints ... -events 1000000
//	driver pull     -store guardian -endpoints ... -count 1000 -times 200
//	driver failover -store guardian -endpoints ...    (commands on stdin: `kill <pid>`, `end`)
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// A store is one of the two groups, as seen by its clients.
type store interface {
	// writers opens n writers; each has one write under way at a time.
	writers(n int) ([]writer, error)
	// pull reads n entries, from number `first` on, of what load wrote for it, from one of the members; it says how many
	// came.
	pull(ctx context.Context, member, first, n int) (int, error)
	// load writes n entries, the first `pulled` of them to where pull reads.
	load(ctx context.Context, n, pulled int) error
	// failoverWriter writes numbered entries one at a time and finds them again.
	failoverWriter(number int) (failoverWriter, error)
	close()
}

// A writer's write returns when a new batch of n entries is acknowledged.
type writer interface {
	write(ctx context.Context, n int) error
}

type options struct {
	store      string
	endpoints  []string
	inFlight   int
	streams    int
	partitions int
	batch      int
	seconds    float64
	unary      bool
	events     int
	pulled     int
	singly     bool
	lifecycle  bool
	count      int
	times      int
}

func parse(arguments []string) (options, error) {
	var o options
	var endpoints string
	flags := flag.NewFlagSet("driver", flag.ContinueOnError)
	flags.StringVar(&o.store, "store", "", "etcd or guardian")
	flags.StringVar(&endpoints, "endpoints", "", "host:port,... of the members to talk to")
	flags.IntVar(&o.inFlight, "in-flight", 1, "write: batches under way at once")
	flags.IntVar(&o.streams, "streams", 0, "write: guardian's streams that share them; 0: one each")
	flags.IntVar(&o.partitions, "partitions", 64, "write, load: guardian's partitions that events are spread over")
	flags.IntVar(&o.batch, "batch", 1, "write: entries in a batch")
	flags.Float64Var(&o.seconds, "seconds", 3, "write: how long")
	flags.BoolVar(&o.unary, "unary", false, "write: guardian's unary call in place of streams")
	flags.IntVar(&o.events, "events", 0, "load: entries")
	flags.IntVar(&o.pulled, "pulled", 0, "load, pull: of which for pull to read")
	flags.BoolVar(&o.singly, "singly", false, "load, pull: those are written one by one, not in tens")
	flags.BoolVar(&o.lifecycle, "lifecycle", false, "load: every tenth event leaves a live segment, the others a deleted one")
	flags.IntVar(&o.count, "count", 0, "pull: entries")
	flags.IntVar(&o.times, "times", 100, "pull: how often")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	o.endpoints = strings.Split(endpoints, ",")
	if endpoints == "" {
		return o, fmt.Errorf("-endpoints is empty: give host:port of one or more members")
	}
	return o, nil
}

func open(o options) (store, error) {
	switch o.store {
	case "etcd":
		return openEtcd(o)
	case "guardian":
		return openGuardian(o)
	}
	return nil, fmt.Errorf("-store is %q: use etcd or guardian", o.store)
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("give write, load, pull or failover")
	}
	o, err := parse(arguments[1:])
	if err != nil {
		return err
	}
	s, err := open(o)
	if err != nil {
		return err
	}
	defer s.close()
	var result any
	switch arguments[0] {
	case "write":
		result, err = measureWrites(ctx, s, o)
	case "load":
		result, err = measureLoad(ctx, s, o)
	case "pull":
		result, err = measurePulls(ctx, s, o)
	case "failover":
		result, err = measureFailovers(ctx, s, len(o.endpoints))
	default:
		err = fmt.Errorf("%q is no measurement: use write, load, pull or failover", arguments[0])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}
