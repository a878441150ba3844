package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const valueBytes = 200

type etcd struct {
	endpoints []string
	clients   []*clientv3.Client
	pullers   []*clientv3.Client // one per member
}

func openEtcd(o options) (*etcd, error) {
	s := &etcd{endpoints: o.endpoints}
	for _, endpoint := range o.endpoints {
		client, err := s.connect(endpoint)
		if err != nil {
			return nil, err
		}
		s.pullers = append(s.pullers, client)
	}
	return s, nil
}

func (s *etcd) connect(endpoints ...string) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop(),
	})
	if err == nil {
		s.clients = append(s.clients, client)
	}
	return client, err
}

func (s *etcd) close() {
	for _, client := range s.clients {
		_ = client.Close() // nothing is under way any longer
	}
}

type etcdWriter struct {
	client *clientv3.Client
	value  string
	prefix string
	next   int
}

// Each writer has a client, that is a connection, of its own; they are dealt out to the members.
func (s *etcd) writers(n int) ([]writer, error) {
	all := make([]writer, n)
	for i := range all {
		client, err := s.connect(s.endpoints[i%len(s.endpoints)])
		if err != nil {
			return nil, err
		}
		all[i] = &etcdWriter{client, string(randomBytes(valueBytes)), fmt.Sprintf("w/%x/", randomBytes(8)), 0}
	}
	return all, nil
}

func (w *etcdWriter) write(ctx context.Context, n int) error {
	if n == 1 {
		_, err := w.client.Put(ctx, w.key(), w.value)
		return err
	}
	puts := make([]clientv3.Op, n)
	for i := range puts {
		puts[i] = clientv3.OpPut(w.key(), w.value)
	}
	_, err := w.client.Txn(ctx).Then(puts...).Commit()
	return err
}

func (w *etcdWriter) key() string {
	w.next++
	const digits = 100_000_000
	return w.prefix + strconv.Itoa(digits + w.next)[1:]
}

const loadBatch = 500

func (s *etcd) load(ctx context.Context, n, pulled int) error {
	const inFlight = 8
	writers, err := s.writers(inFlight)
	if err != nil {
		return err
	}
	return together(inFlight, func(i int) error {
		for at := i * loadBatch; at < n; at += inFlight * loadBatch {
			w := writers[i].(*etcdWriter)
			if at < pulled {
				w = &etcdWriter{w.client, w.value, pullPrefix(at), -1}
			}
			if err := w.write(ctx, min(loadBatch, n-at)); err != nil {
				return err
			}
		}
		return nil
	})
}

func pullPrefix(batch int) string {
	return fmt.Sprintf("p/%08x/", batch)
}

func (s *etcd) pull(ctx context.Context, member, first, n int) (int, error) {
	from := etcdWriter{prefix: pullPrefix(first / loadBatch * loadBatch), next: first%loadBatch - 1}
	reply, err := s.pullers[member].Get(ctx, from.key(), clientv3.WithRange("p0"), clientv3.WithLimit(int64(n)))
	if err != nil {
		return 0, err
	}
	return len(reply.Kvs), nil
}

type etcdFailoverWriter struct {
	clients []*clientv3.Client
	prefix  string
	value   string
}

func (s *etcd) failoverWriter(number int) (failoverWriter, error) {
	w := &etcdFailoverWriter{prefix: fmt.Sprintf("f/%x/%d/", randomBytes(8), number), value: string(randomBytes(valueBytes))}
	for _, endpoint := range s.endpoints {
		client, err := s.connect(endpoint)
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, client)
	}
	return w, nil
}

func (w *etcdFailoverWriter) write(ctx context.Context, member, sequence int) error {
	_, err := w.clients[member].Put(ctx, fmt.Sprintf("%s%012d", w.prefix, sequence), w.value)
	return err
}

func (w *etcdFailoverWriter) stored(ctx context.Context, member int) (map[int]int, error) {
	reply, err := w.clients[member].Get(ctx, w.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	found := make(map[int]int, len(reply.Kvs))
	for _, kv := range reply.Kvs {
		var sequence int
		if _, err := fmt.Sscanf(string(kv.Key[len(w.prefix):]), "%d", &sequence); err != nil {
			return nil, err
		}
		found[sequence]++
	}
	return found, nil
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails
	return data
}
