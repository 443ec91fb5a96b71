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
	// markPrefix is the prefix of the last line of a published item's description.
	markPrefix = "slipway.vm.publish:"
	// maxDescription is the maximum length of the rest of the description, in bytes. The description of a library
	// item has at most 2000 characters. That value is an assumption from vSphere's client.
	maxDescription = 1500
)

// mark identifies the publisher of an item.
type mark struct {
	// server is the ID of the publishing server's store. Several servers may use a library and have namespaces with
	// the same names.
	server string
	// namespace and request (UID) identify the request of the current or next content.
	namespace, request string
	// replaces is the content version that is being replaced. It is empty if no version is being replaced.
	replaces string
}

func (m mark) String() string {
	text := fmt.Sprintf("%s server=%s namespace=%s request=%s", markPrefix, m.server, m.namespace, m.request)
	if m.replaces != "" {
		text += " replaces=" + m.replaces
	}
	return text
}

// markOf parses the mark in a description. ok is false for an item without a mark.
func markOf(description string) (m mark, ok bool) {
	lines := strings.Split(strings.TrimRight(description, "\n"), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) == 0 || fields[0] != markPrefix {
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

// describe returns the item description for a publication by a server.
func describe(server string, p *provider.PublishRequest, replaces string) string {
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

// step is the next step for the item.
type step int

const (
	// createItem creates a new item.
	createItem step = iota
	// recreateItem deletes an incomplete item of an earlier attempt and creates a new item.
	recreateItem
	// createVersion creates a new version of the item.
	createVersion
	// finish removes the mark of a new version that is complete.
	finish
	// done leaves the item unchanged.
	done
	// nameTaken leaves the item unchanged because it was not published by this server and namespace.
	nameTaken
)

// state is the state of the item with a publication's name.
type state struct {
	exists      bool
	description string
	version     string
	// hasContent is true if the item has content.
	hasContent bool
}

// next returns the next step. No task of the request is running when it is called.
func next(server string, p *provider.PublishRequest, s state) step {
	m, ok := markOf(s.description)
	switch {
	case !s.exists:
		return createItem
	case !ok || m.server != server || m.namespace != p.Namespace:
		return nameTaken
	case m.request != string(p.UID):
		return createVersion
	case m.replaces != "" && m.replaces == s.version:
		return createVersion
	case m.replaces != "":
		return finish
	case !s.hasContent:
		return recreateItem
	}
	return done
}
