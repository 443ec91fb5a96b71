// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	// readingNamespace contains only the listed objects.
	readingNamespace = "reading"
	// tables is the Accept header of kubectl, and pageSize its page size.
	tables   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	pageSize = 500
	// watchers is the number of watches that receive each change.
	watchers, changes = 50, 100
	// lists is the number of lists in a round.
	lists = 3
)

// prepareReading creates n objects to list: custom resources, and ours in the last way.
func prepareReading(ctx context.Context, cluster *localcluster.Cluster, ways []way, n int) error {
	namespace := fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", readingNamespace)
	if err := cluster.Apply(ctx, namespace); err != nil {
		return err
	}
	for _, w := range []way{ways[0], ways[len(ways)-1]} {
		fmt.Fprintf(os.Stderr, "making %d objects: %s\n", n, w.name)
		if err := w.makeReading(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// makeReading creates n objects to list, with the content of running ones.
func (w way) makeReading(ctx context.Context, n int) error {
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(8)
	for i := range n {
		making.Go(func() error {
			vm := running.Machine(fmt.Sprintf("vm-%05d", i))
			vm.Namespace = readingNamespace
			if err := w.write(ctx, w.client.Post(), vm, ""); err != nil {
				return fmt.Errorf("making object %d to list: %w", i, err)
			}
			stored, err := w.get(ctx, readingNamespace, vm.Name, "")
			if err != nil {
				return fmt.Errorf("reading object %d to list: %w", i, err)
			}
			stored.Status = running.Status(w.captured, i)
			if err := w.write(ctx, w.client.Put().Name(vm.Name), stored, "status"); err != nil {
				return fmt.Errorf("writing the status of object %d to list: %w", i, err)
			}
			return nil
		})
	}
	return making.Wait()
}

// measureReading reads the n objects in the ways that users and controllers use.
func (w way) measureReading(ctx context.Context, costs *costs, n int) error {
	// once runs f, which performs n operations.
	once := func(verb string, n int, f func() error) error {
		before, err := w.spent()
		if err != nil {
			return err
		}
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		after, err := w.spent()
		if err != nil {
			return err
		}
		costs.add(verb, w.name, (after-before)/float64(n))
		return nil
	}
	several := func(what string, f func() error) error {
		return once(fmt.Sprintf("%s of %d", what, n), lists, func() error {
			for range lists {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all := func() *rest.Request {
		return w.client.Get().Namespace(readingNamespace).Resource(peer.Resource)
	}
	counted := func(got int) error {
		if got != n {
			return fmt.Errorf("%d objects were read, want %d", got, n)
		}
		return nil
	}
	list := func(version string) func() error {
		return func() error {
			request := all()
			if version != "" {
				request = request.Param("resourceVersion", version)
			}
			_, err := discard(ctx, request)
			return err
		}
	}
	return errors.Join(
		several("LIST", list("")),
		several("LIST resourceVersion=0", list("0")),
		several("kubectl get, in pages,", func() error {
			rows, err := table(ctx, all, pageSize)
			return errors.Join(err, counted(rows))
		}),
		several("kubectl get, concurrently,", func() error {
			rows, err := table(ctx, all, 0)
			return errors.Join(err, counted(rows))
		}),
		once(fmt.Sprintf("change seen by %d watchers", watchers), changes, func() error { return w.watched(ctx, all, n) }),
	)
}

// discard reads a response to its end.
func discard(ctx context.Context, request *rest.Request) (int64, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	return io.Copy(io.Discard, body)
}

// table reads the table of all objects, in pages if size is not 0.
func table(ctx context.Context, all func() *rest.Request, size int) (rows int, err error) {
	next := ""
	for {
		request := all().SetHeader("Accept", tables)
		if size > 0 {
			request = request.Param("limit", strconv.Itoa(size)).Param("continue", next)
		}
		data, err := request.Do(ctx).Raw()
		if err != nil {
			return 0, err
		}
		var page metav1.Table
		if err := json.Unmarshal(data, &page); err != nil {
			return 0, err
		}
		rows += len(page.Rows)
		if next = page.Continue; next == "" {
			return rows, nil
		}
	}
}

// watched changes the n objects, and returns when all watchers have seen all changes.
func (w way) watched(ctx context.Context, all func() *rest.Request, n int) error {
	data, err := all().Param("limit", "1").SetHeader("Accept", tables).Do(ctx).Raw()
	if err != nil {
		return err
	}
	var newest metav1.Table
	if err := json.Unmarshal(data, &newest); err != nil {
		return err
	}
	watching, ctx := errgroup.WithContext(ctx)
	for range watchers {
		body, err := all().Param("watch", "true").Param("resourceVersion", newest.ResourceVersion).Stream(ctx)
		if err != nil {
			return err
		}
		watching.Go(func() error {
			defer func() { _ = body.Close() }()
			event := make([]byte, 1<<20)
			frames := w.stream.NewFrameReader(body)
			for range changes {
				if _, err := frames.Read(event); err != nil {
					return fmt.Errorf("reading an event: %w", err)
				}
			}
			return nil
		})
	}
	for i := range changes {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"changed":"%s-%d"}}}`, newest.ResourceVersion, i)
		name := fmt.Sprintf("vm-%05d", i%n)
		if err := w.client.Patch(types.MergePatchType).Namespace(readingNamespace).Resource(peer.Resource).Name(name).Body(patch).Do(ctx).Error(); err != nil {
			return err
		}
	}
	return watching.Wait()
}
