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
	// maxText bounds one text of an answer, maxObject one event of a watch, both in bytes of JSON. etcd
	// stores objects of at most 1.5 MiB, in protobuf.
	maxText   = 256 << 10
	maxObject = 8 << 20
	// maxDepth bounds how deep values are nested. Those of a Node are nested ten times.
	maxDepth = 64
)

// Errors of answers that no API server gives. They end the connection.
var (
	errText   = fmt.Errorf("a text has more than %d bytes", maxText)
	errObject = fmt.Errorf("an object has more than %d bytes", maxObject)
	errDepth  = fmt.Errorf("values are nested more than %d times", maxDepth)
	errSyntax = errors.New("the answer is not JSON")
)

// stream reads JSON of a server that is not trusted. It keeps one text at a time in memory, and nothing of
// values that are skipped.
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

// countedReader returns an error instead of more than a text, or an object, has.
type countedReader struct {
	io.Reader
	// read is how many bytes were read, consumed returns how many of them were decoded, and begun is where
	// the present object begins.
	read, begun int64
	consumed    func() int64
}

// Read implements io.Reader.
func (r *countedReader) Read(p []byte) (int, error) {
	switch at := r.consumed(); {
	case r.read-at > maxText:
		return 0, errText
	case at-r.begun > maxObject:
		return 0, errObject
	}
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, err
}

// begin is called before each object that has a size of its own.
func (s *stream) begin() { s.from.begun = s.dec.InputOffset() }

// token returns the next token. A text that the decoder cannot read is not shown: it is the server's.
func (s *stream) token() (json.Token, error) {
	t, err := s.dec.Token()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, errSyntax
	}
	return t, err
}

// object calls field for each key of an object, which reads its value. Another value is skipped.
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

// array calls item for each item of an array, which reads it. Another value is skipped.
func (s *stream) array(item func() error) error { return s.container('[', item) }

// container calls next until an object or array that begins with open has no more.
func (s *stream) container(open json.Delim, next func() error) error {
	t, err := s.token()
	if err != nil {
		return err
	}
	switch begin, opens := t.(json.Delim); {
	case !opens:
		return nil
	case begin == open:
		return s.within(next)
	default:
		return s.within(s.entries(begin))
	}
}

// within calls next until the present object or array has no more.
func (s *stream) within(next func() error) error {
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

// entries returns a function that skips one entry of an object or array.
func (s *stream) entries(of json.Delim) func() error {
	return func() error {
		if of == '{' {
			if _, err := s.token(); err != nil {
				return err
			}
		}
		return s.skip()
	}
}

// skip reads a value and keeps nothing of it.
func (s *stream) skip() error { return s.array(s.skip) }

// text returns a text. Another value is skipped, and is empty.
func (s *stream) text() (string, error) {
	t, err := s.token()
	if err != nil {
		return "", err
	}
	if begin, opens := t.(json.Delim); opens {
		return "", s.within(s.entries(begin))
	}
	text, _ := t.(string)
	return text, nil
}

// tokens calls keep for each token of a value.
func (s *stream) tokens(keep func(json.Token)) error {
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
		if keep(t); depth == 0 {
			return nil
		}
	}
}
