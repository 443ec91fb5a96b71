// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// Set maps the name of a server to its port.
type Set map[string]int

// Address is 127.0.0.1 with the port of name.
func (s Set) Address(name string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s[name]))
}

// Load reads the stored ports from file, chooses free ports for missing names, and stores them. wanted takes
// precedence over the file. Load checks that every port is free.
func Load(file string, wanted Set, names ...string) (Set, error) {
	kept, err := Read(file)
	if err != nil {
		return nil, err
	}
	for name, port := range wanted {
		if port < 1 || port > 65535 {
			return nil, fmt.Errorf("port of %s: %d given, 1 to 65535 are allowed", name, port)
		}
		kept[name] = port
	}
	chosen, err := choose(file, kept, names)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(chosen, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the ports: %w", err)
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("keeping the ports: %w", err)
	}
	return chosen, nil
}

// Read returns the ports stored in file, or none if it does not exist.
func Read(file string) (Set, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return Set{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kept ports: %w", err)
	}
	s := Set{}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("reading the kept ports from %s: %w", file, err)
	}
	return s, nil
}

// choose holds every port until all are chosen, so that none is given out twice.
func choose(file string, kept Set, names []string) (Set, error) {
	chosen := maps.Clone(kept)
	listeners := make([]net.Listener, 0, len(names))
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	// Stored ports are added before new ones, so that a new port never equals a stored one.
	ordered := slices.Clone(names)
	slices.SortStableFunc(ordered, func(a, b string) int { return min(kept[b], 1) - min(kept[a], 1) })
	for _, name := range ordered {
		l, err := listen(chosen, name)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("port %d of %s is in use by another program: end that program, or give %s another port in %s",
				kept[name], name, name, file)
		}
		if err != nil {
			return nil, fmt.Errorf("taking port %d for %s: %w", kept[name], name, err)
		}
		listeners = append(listeners, l)
		chosen[name] = l.Addr().(*net.TCPAddr).Port
	}
	return chosen, nil
}

// Free ports are chosen from this range, which is below the ephemeral ranges of systems: Linux
// (net.ipv4.ip_local_port_range) begins with 32768, others with 49152. A connection can use an ephemeral port while its
// server does not listen, which is before the start and at each restart. A client that connects to such a port while
// nothing listens may be connected to itself.
const firstPort, lastPort = 20000, 32767

// given are the ports that this process has chosen. Their servers listen later, and must not conflict with a server
// that was started at the same time.
var given sync.Map

// attempts is the number of attempts to find a free port. If half of the ports are in use, all attempts fail once in
// 10^19.
const attempts = 64

// listen listens on the port of name, or on a free one if it has none.
func listen(s Set, name string) (l net.Listener, err error) {
	if s[name] != 0 {
		return net.Listen("tcp", s.Address(name))
	}
	for range attempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("no free port found from %d to %d: %d were tried", firstPort, lastPort, attempts)
}
