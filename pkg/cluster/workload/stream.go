// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxText is the maximum size of one string in a response, and maxObject that of one watch event, in bytes of JSON.
	// etcd stores objects of up to 1.5 MiB, in protobuf.
	maxText   = 256 << 10
	maxObject = 8 << 20
	// maxDepth is the maximum nesting depth. Values of a Node have a depth of up to 10.
	maxDepth = 64
)

// Errors for responses that no API server sends. They close the connection.
var (
	errText   = fmt.Errorf("a string has more than %d bytes", maxText)
	errObject = fmt.Errorf("an object has more than %d bytes", maxObject)
	errDepth  = fmt.Errorf("values are nested more than %d times", maxDepth)
	errSyntax = errors.New("the response is not JSON")
)

// stream decodes JSON from an untrusted server. It holds one string at a time in memory and discards skipped values.
type stream struct {
	dec   *json.Decoder
	from  *countedReader
	depth int
}

func newStream(body io.Reader) *stream {
	s := &stream{from: &countedReader{Reader: body}}
	s.dec = json.NewDecoder(s.from)
	s.dec.UseNumber()
	s.from.consumed = s.dec.InputOffset
	return s
}

// countedReader returns an error if a string or an object exceeds its limit.
type countedReader struct {
	io.Reader
	// read is the number of bytes read. consumed returns the number of bytes that were decoded. objectStart is the
	// offset of the current object.
	read, objectStart int64
	consumed          func() int64
}

// Read implements io.Reader.
func (r *countedReader) Read(p []byte) (int, error) {
	switch at := r.consumed(); {
	case r.read-at > maxText:
		return 0, errText
	case at-r.objectStart > maxObject:
		return 0, errObject
	}
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, err
}

// begin marks the start of an object whose size is limited separately.
func (s *stream) begin() { s.from.objectStart = s.dec.InputOffset() }

// token returns the next token. A syntax error does not quote the input, because it is from the server.
func (s *stream) token() (json.Token, error) {
	t, err := s.dec.Token()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, errSyntax
	}
	return t, err
}

// object calls field for each key of an object; field must read the value. Values of other types are skipped.
func (s *stream) object(field func(key string) error) error {
	return s.container('{', func() error {
		t, err := s.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		return field(key)
	})
}

// array calls item for each item of an array; item must read it. Values of other types are skipped.
func (s *stream) array(item func() error) error { return s.container('[', item) }

// container calls next for each entry of an object or array that begins with open.
func (s *stream) container(open json.Delim, next func() error) error {
	t, err := s.token()
	if err != nil {
		return err
	}
	switch begin, opens := t.(json.Delim); {
	case !opens:
		return nil
	case begin == open:
		return s.readEntries(next)
	default:
		return s.readEntries(s.skipEntry(begin))
	}
}

// readEntries calls next for each remaining entry of the current object or array.
func (s *stream) readEntries(next func() error) error {
	if s.depth++; s.depth > maxDepth {
		return errDepth
	}
	for s.dec.More() {
		if err := next(); err != nil {
			return err
		}
	}
	s.depth--
	_, err := s.token()
	return err
}

// skipEntry returns a function that skips one entry of an object or array.
func (s *stream) skipEntry(of json.Delim) func() error {
	return func() error {
		if of == '{' {
			if _, err := s.token(); err != nil {
				return err
			}
		}
		return s.skip()
	}
}

// skip reads and discards a value.
func (s *stream) skip() error { return s.array(s.skip) }

// text returns a string. Values of other types are skipped and returned as "".
func (s *stream) text() (string, error) {
	t, err := s.token()
	if err != nil {
		return "", err
	}
	if begin, opens := t.(json.Delim); opens {
		return "", s.readEntries(s.skipEntry(begin))
	}
	text, _ := t.(string)
	return text, nil
}

// tokens calls handle for each token of a value.
func (s *stream) tokens(handle func(json.Token)) error {
	for depth := 0; ; {
		t, err := s.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth+s.depth > maxDepth {
				return errDepth
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if handle(t); depth == 0 {
			return nil
		}
	}
}
