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
	// nodePage is the page size of a list, and maxPages the maximum number of pages. Kubernetes supports up to 5,000
	// Nodes.
	nodePage, maxPages = 100, 100
	// listTimeout is the timeout of a list with all its pages. It blocks other lists of the namespace.
	listTimeout = time.Minute
	// collectDelay is how long requests for Nodes are collected before the Nodes are read together.
	collectDelay = 100 * time.Millisecond
	// watchTimeout is the requested duration of a watch.
	watchTimeout = 10 * time.Minute
	// maxVersion is the maximum length of a resource version and continue token, in bytes. The token of kube-apiserver
	// contains the name of a Node.
	maxVersion = 4 << 10
)

// ErrReading is returned while the Nodes of a Machine are being read. The OnNode callbacks are called afterwards.
var ErrReading = errors.New("its Node is being read")

// Errors of invalid responses. They close the connection.
var (
	errTooManyNodes = fmt.Errorf("the cluster has more than %d Nodes", maxPages*nodePage)
	errNode         = errors.New("the response is not from a Kubernetes API server")
)

// nodeCache caches the Nodes of Machines by provider ID and watches them.
type nodeCache struct {
	cluster types.NamespacedName
	// get reads the Node with the given name, or lists Nodes if name is empty. query contains the query parameters.
	get       func(ctx context.Context, name string, query map[string]string) (io.ReadCloser, error)
	listSlots *listSlots
	// hasMachine reports whether a Machine has a provider ID. onChange is called for a Node that has changed or does
	// not exist.
	hasMachine func(providerID string) bool
	onChange   func(*corev1.Node)
	// onSynced is called when the Nodes have been read. onError is called with errors that are retried, and onFatal
	// with errors of invalid responses.
	onSynced         func()
	onError, onFatal func(error)

	// version is the resource version from which the watch starts. If it is empty, Nodes must be listed first.
	version string
	// stale is true if events may have been missed since the cached Nodes were read.
	stale        bool
	readRequests chan struct{}

	mu sync.Mutex
	// byID maps canonical provider IDs to cache entries.
	byID map[string]*nodeEntry
	// idByName maps the names of cached Nodes to their canonical provider IDs.
	idByName map[string]string
}

// run reads and watches Nodes until ctx is done.
func (n *nodeCache) run(ctx context.Context) {
	delay := retryBase
	for ctx.Err() == nil {
		wait := collectDelay
		err := n.readMissing(ctx)
		if err == nil {
			n.onSynced()
			delay = retryBase
			err = n.watch(ctx)
		}
		if err != nil && ctx.Err() == nil {
			n.handleError(err)
			wait, delay = delay, min(2*delay, retryMax)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// handleError calls onError, or onFatal if the response was invalid.
func (n *nodeCache) handleError(err error) {
	for _, wrong := range []error{errText, errObject, errDepth, errSyntax, errTooLarge, errTooManyNodes, errNode} {
		if errors.Is(err, wrong) {
			n.onFatal(shortError{err})
			return
		}
	}
	n.onError(err)
}

// readMissing reads the missing Nodes: by name if all names are known, otherwise with a list.
func (n *nodeCache) readMissing(ctx context.Context) error {
	if n.version == "" && !n.stale {
		// List one Node to get the resource version.
		page, err := n.readPage(ctx, map[string]string{"limit": "1"}, func(*Node) {})
		if err != nil {
			return err
		}
		n.version = page.version
	}
	missing := n.stale
	names := n.missingNames()
	for _, name := range names {
		missing = missing || name == ""
	}
	for id, name := range names {
		if missing {
			break // The list contains all of them.
		}
		found, err := n.readNodeByName(ctx, id, name)
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

// missingNames returns the provider IDs whose Nodes have not been read, with the Node names if known.
func (n *nodeCache) missingNames() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := map[string]string{}
	for id, w := range n.byID {
		if !w.isRead {
			names[id] = w.name
		}
	}
	return names
}

// readNodeByName reads a Node and reports whether it has the provider ID.
func (n *nodeCache) readNodeByName(ctx context.Context, id, name string) (bool, error) {
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
	node, err := r.cachedNode()
	if err != nil || idOf(node) != id {
		return false, err
	}
	n.storeEntries(map[string]*nodeEntry{id: {nodes: []*Node{node}, readByName: true}})
	return true, nil
}

// list reads all Nodes in pages and stores the Nodes that Machines have requested.
func (n *nodeCache) list(ctx context.Context) error {
	done, err := n.listSlots.reserve(ctx, n.cluster.Namespace)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found, count := n.newEntries(), 0
	keep := func(node *Node) {
		count++
		if w := found[idOf(node)]; w != nil {
			w.add(node)
		}
	}
	query := map[string]string{"limit": strconv.Itoa(nodePage)}
	for range maxPages {
		page, err := n.readPage(ctx, query, keep)
		switch {
		case err != nil:
			return err
		case count > maxPages*nodePage:
			return errTooManyNodes
		case page.next == "":
			n.version, n.stale = page.version, false
			n.storeEntries(found)
			return nil
		}
		query["continue"] = page.next
	}
	return errTooManyNodes
}

// page is the metadata of a page of a list.
type page struct{ version, next string }

// readPage reads one page and calls handle for each Node.
func (n *nodeCache) readPage(ctx context.Context, query map[string]string, handle func(*Node)) (p page, err error) {
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
				node, err := r.cachedNode()
				if err == nil {
					handle(node)
				}
				return err
			})
		}
		return s.skip()
	})
	if err == nil && (p.version == "" || len(p.version)+len(p.next) > maxVersion) {
		err = fmt.Errorf("%w: a list of Nodes has no resource version, or it is too long", errNode)
	}
	return p, err
}

// watch watches Nodes until the watch ends or a Node must be read.
func (n *nodeCache) watch(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		select {
		case <-n.readRequests:
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
			err = n.readEvent(s)
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	n.stale = true
	return err
}

// readEvent reads and applies a watch event. It returns io.EOF at the end of the watch.
func (n *nodeCache) readEvent(s *stream) error {
	s.begin()
	kind, r := "", (*nodeDecoder)(nil)
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
	node, err := r.cachedNode()
	if err != nil {
		return err
	}
	if changed := n.applyEvent(node, kind == string(watch.Deleted)); changed != nil {
		n.onChange(changed)
	}
	return nil
}
