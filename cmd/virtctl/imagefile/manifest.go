// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"bufio"
	"context"
	"crypto/sha1" // used by old manifests
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"regexp"
	"strings"
)

// maxManifest is the maximum size of a manifest in bytes.
const maxManifest = 1 << 20

// Digest is the digest of a file.
type Digest struct {
	// Algorithm is SHA1, SHA256 or SHA512. Manifests and content libraries use the same names (vSphere Automation
	// API, ChecksumAlgorithm).
	Algorithm string
	// Hex is the digest in lower case.
	Hex string
}

var algorithms = map[string]func() hash.Hash{"SHA1": sha1.New, "SHA256": sha256.New, "SHA512": sha512.New}

// line is "SHA256(disk.vmdk)= 0f…" (DSP0243 5.1.3), also the format of openssl.
var line = regexp.MustCompile(`^([A-Za-z0-9-]+) ?\((.+)\) ?= ?([0-9A-Fa-f]+)$`)

// expect sets the digests of a manifest, which may be nil.
func (i *Image) expect(manifest *File) error {
	digests := map[string]Digest{}
	if manifest != nil {
		var err error
		if digests, err = digestsOf(manifest); err != nil {
			return fmt.Errorf("manifest %s: %w", manifest.Name, err)
		}
	}
	for _, f := range i.Files {
		if d, ok := digests[f.listed]; ok {
			f.Digest = d
			continue
		}
		i.Unchecked = append(i.Unchecked, f.Name)
	}
	return nil
}

func digestsOf(manifest *File) (map[string]Digest, error) {
	if manifest.Size > maxManifest {
		return nil, fmt.Errorf("it has %d bytes, at most %d are supported", manifest.Size, maxManifest)
	}
	digests := map[string]Digest{}
	for n, lines := 1, bufio.NewScanner(manifest.Reader()); ; n++ {
		if !lines.Scan() {
			return digests, lines.Err()
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		found := line.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("line %d: must have the form SHA256(name)= digest", n)
		}
		d := Digest{Algorithm: strings.ReplaceAll(strings.ToUpper(found[1]), "-", ""), Hex: strings.ToLower(found[3])}
		algorithm := algorithms[d.Algorithm]
		switch {
		case algorithm == nil:
			return nil, fmt.Errorf("line %d: algorithm %q is not supported: use SHA1, SHA256 or SHA512", n, found[1])
		case len(d.Hex) != 2*algorithm().Size():
			return nil, fmt.Errorf("line %d: %s digests have %d digits, got %d", n, d.Algorithm, 2*algorithm().Size(), len(d.Hex))
		}
		name := path.Clean(found[2])
		if other, twice := digests[name]; twice && other != d {
			return nil, fmt.Errorf("line %d: duplicate digest of %s", n, name)
		}
		digests[name] = d
	}
}

// Verify reads all files and compares their digests with the manifest. It computes the digests of files that are not
// listed. progress receives the number of bytes read.
func (i *Image) Verify(ctx context.Context, progress func(read int64)) error {
	for _, f := range i.Files {
		algorithm := f.Digest.Algorithm
		if algorithm == "" {
			algorithm = "SHA256"
		}
		sum := algorithms[algorithm]()
		if _, err := io.Copy(io.MultiWriter(sum, counter{ctx, progress}), f.Reader()); err != nil {
			return fmt.Errorf("reading %s: %w", f.Name, err)
		}
		got := hex.EncodeToString(sum.Sum(nil))
		if err := f.differs(got); err != nil {
			return err
		}
		f.Digest = Digest{Algorithm: algorithm, Hex: got}
	}
	return nil
}

// differs returns an error if the file's digest does not match the manifest.
func (f *File) differs(got string) error {
	if f.Digest.Hex == "" || got == f.Digest.Hex {
		return nil
	}
	return fmt.Errorf("%s is damaged or was changed: its %s is %s, the manifest has %s", f.Name, f.Digest.Algorithm, got, f.Digest.Hex)
}

// compare returns an error if the content does not match the manifest.
func (f *File) compare(content []byte) error {
	if f.Digest.Hex == "" {
		return nil
	}
	sum := algorithms[f.Digest.Algorithm]()
	sum.Write(content)
	return f.differs(hex.EncodeToString(sum.Sum(nil)))
}

// counter reports the number of bytes written, until the context ends.
type counter struct {
	ctx  context.Context //nolint:containedctx // io.Writer has none
	tell func(int64)
}

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, errors.Join(errors.New("interrupted"), err)
	}
	c.tell(int64(len(p)))
	return len(p), nil
}
