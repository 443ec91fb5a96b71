// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// marked begins the last line of the description of an item that was published.
	marked = "slipway.vm.publish:"
	// maxDescription bounds the rest of it, in bytes: the description of a library item
	// has at most 2000 characters (judgement: that of vSphere's client).
	maxDescription = 1500
)

// mark is what an item says of who has published it.
type mark struct {
	// server is the ID of the store of the server that has published it, for several may
	// use a library and have namespaces of the same names.
	server string
	// namespace and UID of the request that made the content, or is about to.
	namespace, request string
	// replaces is the version of the content that is about to be replaced; empty when
	// nothing is.
	replaces string
}

func (m mark) String() string {
	text := fmt.Sprintf("%s server=%s namespace=%s request=%s", marked, m.server, m.namespace, m.request)
	if m.replaces != "" {
		text += " replaces=" + m.replaces
	}
	return text
}

// markOf reads the mark of a description; ok is false for an item that was not published.
func markOf(description string) (m mark, ok bool) {
	lines := strings.Split(strings.TrimRight(description, "\n"), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) == 0 || fields[0] != marked {
		return mark{}, false
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "server":
			m.server = value
		case "namespace":
			m.namespace = value
		case "request":
			m.request = value
		case "replaces":
			m.replaces = value
		}
	}
	return m, m.server != "" && m.namespace != "" && m.request != ""
}

// describe is the description of the item of a publication by a server.
func describe(server string, p *provider.Publication, replaces string) string {
	text := p.Description
	if len(text) > maxDescription {
		text = text[:maxDescription]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	if text != "" {
		text += "\n"
	}
	return text + mark{server: server, namespace: p.Namespace, request: string(p.UID), replaces: replaces}.String()
}

// step is what is to be done with the item of the name.
type step int

const (
	// make makes a new item.
	makeNew step = iota
	// makeAnew deletes what an earlier attempt has left half made, and makes a new item.
	makeAnew
	// makeVersion gives the item a new version.
	makeVersion
	// finish takes the note of a new version away, which is there.
	finish
	// done leaves the item as it is.
	done
	// taken leaves it to whom it belongs.
	taken
)

// state is what is known of the item of the name of a publication.
type state struct {
	exists      bool
	description string
	version     string
	// whole is true when it has content.
	whole bool
}

// next decides. Nothing runs any more that was begun for the request by the server.
func next(server string, p *provider.Publication, s state) step {
	m, ok := markOf(s.description)
	switch {
	case !s.exists:
		return makeNew
	case !ok || m.server != server || m.namespace != p.Namespace:
		return taken
	case m.request != string(p.UID):
		return makeVersion
	case m.replaces != "" && m.replaces == s.version:
		return makeVersion
	case m.replaces != "":
		return finish
	case !s.whole:
		return makeAnew
	}
	return done
}
