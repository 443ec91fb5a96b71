// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// nodePage is how many Nodes a page of a list has, and maxPages how many pages there are: Kubernetes is
	// made for 5,000 Nodes.
	nodePage, maxPages = 100, 100
	// listTimeout bounds a list with all its pages, during which no other of the namespace begins.
	listTimeout = time.Minute
	// gathering is how long Nodes are asked for until they are read.
	gathering = 100 * time.Millisecond
	// watchTimeout is what a watch is requested for.
	watchTimeout = 10 * time.Minute
	// maxVersion bounds what identifies a page, in bytes. The token of kube-apiserver has the name of a Node.
	maxVersion = 4 << 10
)

// ErrReading is what errors.Is finds while the Nodes of a Machine are being read. OnNode reports the end.
var ErrReading = errors.New("its Node is being read")

// Errors of answers, which end the connection.
var (
	errCrowd = fmt.Errorf("the cluster has more than %d Nodes", maxPages*nodePage)
	errNode  = errors.New("the answer is not one of an API server")
)

// nodes keeps the Nodes of Machines, which ask for them by provider ID, and follows their changes.
type nodes struct {
	cluster types.NamespacedName
	// get reads the Node of a name, or all if it is empty, with parameters of the query.
	get   func(ctx context.Context, name string, query map[string]string) (io.ReadCloser, error)
	lists *slots
	// isWanted reports whether a Machine has a provider ID. changed is called for a Node that differs,
	// or whose absence is known.
	isWanted func(providerID string) bool
	changed  func(*corev1.Node)
	// synced is called when Nodes can be asked for, failed with what went wrong last, and broken with an answer
	// that no API server gives.
	synced         func()
	failed, broken func(error)

	// version is the resource version that the watch begins after, empty if all Nodes are to be listed.
	version string
	// stale is true when it does not follow what is kept.
	stale bool
	asked chan struct{}

	mu sync.Mutex
	// byID has the Nodes by the keys of their provider IDs.
	byID map[string]*wanted
	// ids are the keys of the provider IDs of the Nodes that are kept, by their names.
	ids map[string]string
}

// run reads and follows Nodes until ctx is done.
func (n *nodes) run(ctx context.Context) {
	delay := retryBase
	for ctx.Err() == nil {
		wait := gathering
		err := n.read(ctx)
		if err == nil {
			n.synced()
			delay = retryBase
			err = n.follow(ctx)
		}
		if err != nil && ctx.Err() == nil {
			n.report(err)
			wait, delay = delay, min(2*delay, retryMax)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// report passes on an error. One of an answer that no API server gives ends the connection.
func (n *nodes) report(err error) {
	for _, wrong := range []error{errText, errObject, errDepth, errSyntax, errAnswer, errCrowd, errNode} {
		if errors.Is(err, wrong) {
			n.broken(shortError{err})
			return
		}
	}
	n.failed(err)
}

// read reads what Machines ask for and is not known: Nodes whose names are known by these, others in a list.
func (n *nodes) read(ctx context.Context) error {
	if n.version == "" && !n.stale {
		// A list of one Node is enough for the version.
		page, err := n.page(ctx, map[string]string{"limit": "1"}, func(*Node) {})
		if err != nil {
			return err
		}
		n.version = page.version
	}
	missing := n.stale
	names := n.unknown()
	for _, name := range names {
		missing = missing || name == ""
	}
	for id, name := range names {
		if missing {
			break // The list has all of them.
		}
		found, err := n.readOne(ctx, id, name)
		if err != nil {
			return err
		}
		missing = !found
	}
	if !missing {
		return nil
	}
	return n.list(ctx)
}

// unknown returns the provider IDs of Nodes that are not known, with the names that Machines know.
func (n *nodes) unknown() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := map[string]string{}
	for id, w := range n.byID {
		if !w.known {
			names[id] = w.name
		}
	}
	return names
}

// readOne reads the Node of a name, and reports whether that has the provider ID.
func (n *nodes) readOne(ctx context.Context, id, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := n.get(ctx, name, nil)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = body.Close() }()
	r, err := readNode(newStream(body))
	if err != nil {
		return false, fmt.Errorf("reading a Node: %w", err)
	}
	node, err := r.kept()
	if err != nil || idOf(node) != id {
		return false, err
	}
	n.settle(map[string]*wanted{id: {nodes: []*Node{node}, byName: true}})
	return true, nil
}

// list reads all Nodes, page by page, and keeps those that Machines ask for.
func (n *nodes) list(ctx context.Context) error {
	done, err := n.lists.wait(ctx, n.cluster.Namespace)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found, count := n.search(), 0
	keep := func(node *Node) {
		count++
		if w := found[idOf(node)]; w != nil {
			w.add(node)
		}
	}
	query := map[string]string{"limit": strconv.Itoa(nodePage)}
	for range maxPages {
		page, err := n.page(ctx, query, keep)
		switch {
		case err != nil:
			return err
		case count > maxPages*nodePage:
			return errCrowd
		case page.next == "":
			n.version, n.stale = page.version, false
			n.settle(found)
			return nil
		}
		query["continue"] = page.next
	}
	return errCrowd
}

// page is a page of a list.
type page struct{ version, next string }

// page reads one, and calls keep for each Node.
func (n *nodes) page(ctx context.Context, query map[string]string, keep func(*Node)) (p page, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := n.get(ctx, "", query)
	if err != nil {
		return p, err
	}
	defer func() { _ = body.Close() }()
	s := newStream(body)
	err = s.object(func(key string) error {
		switch key {
		case "metadata":
			return s.object(func(key string) (err error) {
				switch key {
				case "resourceVersion":
					p.version, err = s.text()
				case "continue":
					p.next, err = s.text()
				default:
					err = s.skip()
				}
				return err
			})
		case "items":
			return s.array(func() error {
				s.begin()
				r, err := readNode(s)
				if err != nil {
					return err
				}
				node, err := r.kept()
				if err == nil {
					keep(node)
				}
				return err
			})
		}
		return s.skip()
	})
	if err == nil && (p.version == "" || len(p.version)+len(p.next) > maxVersion) {
		err = fmt.Errorf("%w: a list of Nodes has no resource version, or a long one", errNode)
	}
	return p, err
}

// follow reads a watch until it ends, or a Machine asks for a Node that is not known.
func (n *nodes) follow(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		select {
		case <-n.asked:
			cancel()
		case <-ctx.Done():
		}
	})
	body, err := n.get(ctx, "", map[string]string{
		"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": n.version, "timeoutSeconds": strconv.Itoa(int(watchTimeout.Seconds())),
	})
	if err == nil {
		defer func() { _ = body.Close() }()
		for s := newStream(body); err == nil; {
			err = n.event(s)
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	n.stale = true
	return err
}

// event reads an event of a watch. The error is io.EOF after the last.
func (n *nodes) event(s *stream) error {
	s.begin()
	kind, r := "", (*received)(nil)
	err := s.object(func(key string) (err error) {
		switch key {
		case "type":
			kind, err = s.text()
		case "object":
			r, err = readNode(s)
		default:
			err = s.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case r == nil:
		return errSyntax
	case kind == string(watch.Error):
		return shortError{fmt.Errorf("the watch of Nodes ended with %s: %s", r.code, r.message)}
	}
	n.version = r.ResourceVersion
	if kind == string(watch.Bookmark) {
		return nil
	}
	node, err := r.kept()
	if err != nil {
		return err
	}
	if changed := n.take(node, kind == string(watch.Deleted)); changed != nil {
		n.changed(changed)
	}
	return nil
}
