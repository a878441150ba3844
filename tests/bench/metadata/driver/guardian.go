package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "guardian.invalid/protos/guardianv1"
)

const (
	maxMessageBytes     = 64 << 20
	pullPartition       = 1_000_000 // that pull reads
	pullSinglyPartition = 1_000_001 // its events were appended one by one
	eventsPerPart       = 10        // a batch of 100 events names 10 partitions, one of 1000 all 64
	customBytes         = 141       // brings an event to 200 bytes
	pullPage            = 10_000
)

type guardian struct {
	options
	members []*grpc.ClientConn
	conns   []*grpc.ClientConn
}

func openGuardian(o options) (*guardian, error) {
	s := &guardian{options: o}
	for i := range o.endpoints {
		conn, err := s.connect(i)
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, conn)
	}
	return s, nil
}

func (s *guardian) connect(member int) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(
		"passthrough:///"+s.endpoints[member],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes), grpc.WaitForReady(true),
		),
		grpc.WithConnectParams(reconnectSoon),
	)
	if err == nil {
		s.conns = append(s.conns, conn)
	}
	return conn, err
}

func (s *guardian) close() {
	for _, conn := range s.conns {
		_ = conn.Close() // nothing is under way any longer
	}
}

// A stream carries many requests; replies come in the order of the requests.
type appendStream struct {
	sending sync.Mutex
	stream  grpc.BidiStreamingClient[pb.StreamSegmentEventsRequest, pb.StreamSegmentEventsReply]
	waiting chan chan streamAnswer
}

type streamAnswer struct {
	reply *pb.StreamSegmentEventsReply
	err   error
}

func (s *guardian) openStream(i int) (*appendStream, error) {
	conn, err := s.connect(i % len(s.endpoints))
	if err != nil {
		return nil, err
	}
	stream, err := pb.NewTieringClient(conn).StreamSegmentEvents(context.Background())
	if err != nil {
		return nil, err
	}
	opened := &appendStream{stream: stream, waiting: make(chan chan streamAnswer, 4096)}
	go opened.receive()
	return opened, nil
}

func (s *appendStream) receive() {
	var failed error
	for answer := range s.waiting {
		if failed != nil {
			answer <- streamAnswer{nil, failed}
			continue
		}
		reply, err := s.stream.Recv()
		if err == io.EOF {
			err = fmt.Errorf("the stream was ended by the member")
		}
		failed = err
		answer <- streamAnswer{reply, err}
	}
}

func (s *appendStream) append(request *pb.AppendSegmentEventsRequest) (*pb.AppendSegmentEventsReply, error) {
	message := &pb.StreamSegmentEventsRequest{Append: request}
	answer := make(chan streamAnswer, 1)
	for {
		s.sending.Lock()
		err := s.stream.Send(message)
		if err == nil || err == io.EOF { // on EOF the receiver learns why
			s.waiting <- answer
			err = nil
		}
		s.sending.Unlock()
		if err != nil {
			return nil, err
		}
		got := <-answer
		if got.err != nil {
			return nil, got.err
		}
		switch {
		case got.reply.Code == 0:
			return got.reply.Append, nil
		case got.reply.RetryAfterMs > 0: // overloaded: the wait counts as latency
			time.Sleep(time.Duration(got.reply.RetryAfterMs) * time.Millisecond)
		default:
			return nil, fmt.Errorf("code %d: %s", got.reply.Code, got.reply.Error)
		}
	}
}

type guardianWriter struct {
	partitions int // that the batches go through, a few in each
	append     func(ctx context.Context, request *pb.AppendSegmentEventsRequest) (*pb.AppendSegmentEventsReply, error)
	events     eventMaker
	first      int // of the partitions of the next batch
}

func (s *guardian) writers(n int) ([]writer, error) {
	all := make([]writer, n)
	if s.unary {
		for i := range all {
			conn, err := s.connect(i % len(s.endpoints))
			if err != nil {
				return nil, err
			}
			client := pb.NewTieringClient(conn)
			all[i] = &guardianWriter{s.partitions, func(ctx context.Context, request *pb.AppendSegmentEventsRequest) (*pb.AppendSegmentEventsReply, error) {
				return client.AppendSegmentEvents(ctx, request)
			}, newEventMaker(), i}
		}
		return all, nil
	}
	streams := make([]*appendStream, min(n, max(s.streams, 0)))
	if len(streams) == 0 {
		streams = make([]*appendStream, n)
	}
	for i := range streams {
		stream, err := s.openStream(i)
		if err != nil {
			return nil, err
		}
		streams[i] = stream
	}
	for i := range all {
		stream := streams[i%len(streams)]
		all[i] = &guardianWriter{s.partitions, func(_ context.Context, request *pb.AppendSegmentEventsRequest) (*pb.AppendSegmentEventsReply, error) {
			return stream.append(request)
		}, newEventMaker(), i * 7}
	}
	return all, nil
}

func (w *guardianWriter) write(ctx context.Context, n int) error {
	return w.send(ctx, w.batch(n))
}

func (w *guardianWriter) send(ctx context.Context, request *pb.AppendSegmentEventsRequest) error {
	reply, err := w.append(ctx, request)
	if err != nil {
		return err
	}
	return firstError(reply)
}

func firstError(reply *pb.AppendSegmentEventsReply) error {
	for _, result := range reply.GetResults() {
		if result.Error != "" {
			return fmt.Errorf("partition %d: %s", result.Partition.GetPartition(), result.Error)
		}
	}
	return nil
}

// batch makes n new events, spread evenly over the next partitions.
func (w *guardianWriter) batch(n int) *pb.AppendSegmentEventsRequest {
	parts := min(w.partitions, max(1, n/eventsPerPart))
	request := &pb.AppendSegmentEventsRequest{}
	for part := range parts {
		request.Partitions = append(request.Partitions, &pb.PartitionEvents{
			Partition: partition((w.first + part) % w.partitions),
			Events:    w.events.started(n*(part+1)/parts - n*part/parts),
		})
	}
	w.first = (w.first + parts) % w.partitions
	return request
}

func partition(number int) *pb.TopicIdPartition {
	return &pb.TopicIdPartition{
		ClusterId: "bench-cluster-0123456", TopicId: []byte("bench-topic-0001"), Partition: uint32(number),
	}
}

// eventMaker makes events of segments that nobody else makes.
type eventMaker struct {
	prefix []byte
	next   uint64
	custom []byte
}

func newEventMaker() eventMaker {
	return eventMaker{randomBytes(8), 0, randomBytes(customBytes)}
}

// started makes n events; they share what is the same in all, so that making them costs little.
func (m *eventMaker) started(n int) []*pb.SegmentEvent {
	events, made := make([]*pb.SegmentEvent, n), make([]pb.SegmentEvent, n)
	ids := make([]byte, 0, n*16)
	for i := range events {
		m.next++
		ids = binary.BigEndian.AppendUint64(append(ids, m.prefix...), m.next)
		events[i] = &made[i]
		fillStarted(events[i], ids[len(ids)-16:], int64(m.next), m.custom)
	}
	return events
}

var leaderEpochs = map[int32]int64{1: 0}

func fillStarted(event *pb.SegmentEvent, id []byte, sequence int64, custom []byte) {
	event.SegmentId = id
	event.State = pb.RemoteLogSegmentState_COPY_SEGMENT_STARTED
	event.BrokerId = 1
	event.EventTimestampMs = 1_790_000_000_000
	event.StartOffset = sequence * 1000
	event.EndOffset = sequence*1000 + 999
	event.MaxTimestampMs = 1_790_000_000_000
	event.SegmentSizeBytes = 1 << 30
	event.SegmentLeaderEpochs = leaderEpochs
	event.CustomMetadata = custom
}

// load appends from several streams. What is to be pulled is written in tens, as by batches of 100 events of 10
// partitions, or singly. With lifecycle a tenth of the other events belongs to segments that stay live, and the rest to
// segments that are deleted in the end: of 10 million events, 1 million segments stay.
func (s *guardian) load(ctx context.Context, n, pulled int) error {
	const batch, inFlight = 500, 8
	writers, err := s.writers(inFlight)
	if err != nil {
		return err
	}
	var forPull, others atomic.Int64
	tens := s.pulledTogether()
	return together(inFlight, func(i int) error {
		w := writers[i].(*guardianWriter)
		for forPull.Add(int64(tens)) <= int64(pulled) {
			if err := w.send(ctx, one(s.pullPartition(), w.events.started(tens))); err != nil {
				return err
			}
		}
		for others.Add(batch) <= int64(n-pulled) {
			var err error
			if s.lifecycle {
				err = w.send(ctx, w.lives(batch))
			} else {
				err = w.write(ctx, batch)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *guardian) pulledTogether() int {
	if s.singly {
		return 1
	}
	return eventsPerPart
}

func (s *guardian) pullPartition() *pb.TopicIdPartition {
	if s.singly {
		return partition(pullSinglyPartition)
	}
	return partition(pullPartition)
}

// lives makes n events of whole lives: of ten events, one segment that stays, in two events, and two that are deleted,
// in four each.
func (w *guardianWriter) lives(n int) *pb.AppendSegmentEventsRequest {
	states := []pb.RemoteLogSegmentState{
		pb.RemoteLogSegmentState_COPY_SEGMENT_FINISHED,
		pb.RemoteLogSegmentState_DELETE_SEGMENT_STARTED,
		pb.RemoteLogSegmentState_DELETE_SEGMENT_FINISHED,
	}
	parts := n / 10
	request := &pb.AppendSegmentEventsRequest{}
	for part := range parts {
		var events []*pb.SegmentEvent
		starts := w.events.started(3)
		for i, changes := range []int{1, 3, 3} {
			start := starts[i]
			events = append(events, start)
			for _, state := range states[:changes] {
				events = append(events, &pb.SegmentEvent{
					SegmentId: start.SegmentId, State: state, BrokerId: 1, EventTimestampMs: start.EventTimestampMs,
				})
			}
		}
		request.Partitions = append(request.Partitions, &pb.PartitionEvents{
			Partition: partition((w.first + part) % w.partitions), Events: events,
		})
	}
	w.first = (w.first + parts) % w.partitions
	return request
}

func one(partition *pb.TopicIdPartition, events []*pb.SegmentEvent) *pb.AppendSegmentEventsRequest {
	return &pb.AppendSegmentEventsRequest{Partitions: []*pb.PartitionEvents{{Partition: partition, Events: events}}}
}

func (s *guardian) pull(ctx context.Context, member, first, n int) (int, error) {
	events, err := s.pullEvents(ctx, member, s.pullPartition(), uint64(first), n)
	return len(events), err
}

// pullEvents follows next_event_id until it has n events or there are no more. What a group has before the first one
// that was asked for, or beyond the last, is left out.
func (s *guardian) pullEvents(ctx context.Context, member int, from *pb.TopicIdPartition, at uint64, n int) ([]*pb.SegmentEvent, error) {
	client := pb.NewTieringClient(s.members[member])
	var events []*pb.SegmentEvent
	for len(events) < n {
		reply, err := client.PullSegmentEvents(ctx, &pb.PullSegmentEventsRequest{
			Partition: from, FromEventId: at, MaxEvents: uint32(min(n-len(events), pullPage)),
		})
		if err != nil {
			return nil, err
		}
		if len(reply.Groups) == 0 {
			break
		}
		for _, group := range reply.Groups {
			end := group.FirstEventId + uint64(len(group.Events))
			if at < group.FirstEventId || at >= end {
				return nil, fmt.Errorf("event %d is missing: what came is %d to %d", at, group.FirstEventId, end-1)
			}
			events = append(events, group.Events[at-group.FirstEventId:]...)
			at = end
		}
	}
	return events[:min(n, len(events))], nil
}

type guardianFailoverWriter struct {
	store     *guardian
	partition *pb.TopicIdPartition
	custom    []byte
}

func (s *guardian) failoverWriter(number int) (failoverWriter, error) {
	own := partition(number)
	own.TopicId = randomBytes(16) // nothing of an earlier run
	return &guardianFailoverWriter{s, own, randomBytes(customBytes)}, nil
}

func (w *guardianFailoverWriter) write(ctx context.Context, member, sequence int) error {
	id := binary.BigEndian.AppendUint64(make([]byte, 8, 16), uint64(sequence))
	event := new(pb.SegmentEvent)
	fillStarted(event, id, int64(sequence), w.custom)
	request := one(w.partition, []*pb.SegmentEvent{event})
	reply, err := pb.NewTieringClient(w.store.members[member]).AppendSegmentEvents(ctx, request, grpc.WaitForReady(false))
	if err != nil {
		return err
	}
	return firstError(reply)
}

func (w *guardianFailoverWriter) stored(ctx context.Context, member int) (map[int]int, error) {
	const all = 1 << 30
	events, err := w.store.pullEvents(ctx, member, w.partition, 0, all)
	if err != nil {
		return nil, err
	}
	found := make(map[int]int, len(events))
	for _, event := range events {
		found[int(binary.BigEndian.Uint64(event.SegmentId[8:]))]++
	}
	return found, nil
}
