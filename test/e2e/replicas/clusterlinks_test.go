// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// link is a proxy in front of the port of one member, for the others. It knows whose
// connections they are.
type link struct {
	name     string
	listener net.Listener
	target   string
	links    *links

	mu sync.Mutex
	// open are the connections, by who made them.
	open map[net.Conn]string
}

// links are between all members.
type links struct {
	*testing.T
	// processes tells who runs as which process.
	processes func() map[string]int

	mu  sync.Mutex
	all []*link
	// cut are those that reach nobody.
	cut map[string]bool
}

// add begins to listen for a member that listens on the same port of another address.
func (l *links) add(name string, port string) {
	l.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(linkHost, port))
	if err != nil {
		l.Fatal(err)
	}
	k := &link{name: name, listener: listener, target: net.JoinHostPort("127.0.0.1", port), links: l, open: map[net.Conn]string{}}
	l.mu.Lock()
	l.all = append(l.all, k)
	l.mu.Unlock()
	l.Cleanup(func() {
		_ = listener.Close()
		k.drop(func(string) bool { return true })
	})
	go k.serve()
}

// linkHost is where members reach each other, beside where they listen.
const linkHost = "127.0.0.2"

// isolate cuts a member off from the others, until the returned function is called.
func (l *links) isolate(name string) (heal func()) {
	l.mu.Lock()
	l.cut[name] = true
	all := slices.Clone(l.all)
	l.mu.Unlock()
	for _, k := range all {
		k.drop(func(from string) bool { return k.name == name || from == name })
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.cut, name)
	}
}

func (l *links) isCut(names ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool { return l.cut[name] })
}

func (k *link) drop(which func(from string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c, from := range k.open {
		if which(from) {
			_ = c.Close()
		}
	}
}

func (k *link) serve() {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return
		}
		go k.carry(c)
	}
}

func (k *link) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	from := owner(c, k.links.processes())
	k.mu.Lock()
	k.open[c] = from
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.open, c)
		k.mu.Unlock()
	}()
	if k.links.isCut(k.name, from) {
		return
	}
	pipe(c, k.target)
}

// pipe carries a connection to a target until either ends.
func pipe(c net.Conn, target string) {
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, c}, {c, to}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// owner is which of the processes has the other end of a connection of this machine.
func owner(c net.Conn, processes map[string]int) string {
	remote := c.RemoteAddr().(*net.TCPAddr)
	for name, pid := range processes {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
		if err != nil {
			continue
		}
		inode := inodeOf(string(table), remote)
		if inode == "" {
			continue
		}
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			continue
		}
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && to == "socket:["+inode+"]" {
				return name
			}
		}
	}
	return ""
}

// inodeOf finds the socket with a local address in a table of the kernel.
func inodeOf(table string, local *net.TCPAddr) string {
	ip := slices.Clone(local.IP.To4())
	slices.Reverse(ip)
	want := strings.ToUpper(hex.EncodeToString(ip)) + ":" + fmt.Sprintf("%04X", local.Port)
	for _, line := range strings.Split(table, "\n") {
		if words := strings.Fields(line); len(words) > 9 && words[1] == want {
			return words[9]
		}
	}
	return ""
}

// service stands for the Service of the replicas: it goes to one that is ready, by turns.
// Like a load balancer that looks at them, it ends the connections to one that is not ready
// any more, unless it keeps them.
type service struct {
	listener net.Listener
	// keeps makes it leave connections alone, as kube-proxy does.
	keeps atomic.Bool
	// blind keeps it from learning who is ready.
	blind atomic.Bool

	mu    sync.Mutex
	ready map[string]bool // by address
	next  int
	open  map[net.Conn]string
}

func newService(t *testing.T) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &service{listener: listener, ready: map[string]bool{}, open: map[net.Conn]string{}}
	t.Cleanup(func() {
		_ = listener.Close()
		v.mu.Lock()
		defer v.mu.Unlock()
		for c := range v.open {
			_ = c.Close()
		}
	})
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go v.carry(c)
		}
	}()
	return v
}

func (v *service) port() int { return v.listener.Addr().(*net.TCPAddr).Port }

// set says whether a replica is ready.
func (v *service) set(address string, ready bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready[address] == ready || v.blind.Load() {
		return
	}
	v.ready[address] = ready
	for c, to := range v.open {
		if !ready && to == address && !v.keeps.Load() {
			_ = c.Close()
		}
	}
}

// choose is a replica that is ready.
func (v *service) choose(c net.Conn) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for address, ready := range v.ready {
		if ready {
			all = append(all, address)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	v.next++
	v.open[c] = all[v.next%len(all)]
	return v.open[c]
}

func (v *service) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	to := v.choose(c)
	if to == "" {
		return
	}
	pipe(c, to)
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.open, c)
}

func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(err)
	}
	if _, err := strconv.Atoi(port); err != nil {
		panic(err)
	}
	return port
}
