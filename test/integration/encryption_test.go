// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/schema"
)

// encryption is the example with a key, as a file.
func encryption(t *testing.T) string {
	t.Helper()
	example, err := os.ReadFile("../../artifacts/hardening/encryption.yaml")
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	text := strings.ReplaceAll(string(example), "REPLACE-BY-A-KEY", base64.StdEncoding.EncodeToString(key))
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// stored returns the stored values by key, for the keys that contain plain.
func stored(t *testing.T, store *clientv3.Client, name string) map[string][]byte {
	t.Helper()
	all, err := store.Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]byte{}
	for _, kv := range all.Kvs {
		if strings.HasSuffix(string(kv.Key), "/"+name) {
			values[string(kv.Key)] = kv.Value
		}
	}
	return values
}

// Encrypted data starts with this prefix and the name of the key.
const (
	encrypted = "k8s:enc:secretbox:v1:key1:"
	secret    = "confidential-value"
)

func TestEncryption_CoversAllKinds(t *testing.T) {
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	dir, onEtcd := t.TempDir(), func(o *app.Options) {
		o.DataDir, o.EtcdUnsafeNoFsync, o.Recommended.Etcd.StorageConfig.Transport.ServerList = "", false, []string{etcd.Endpoint()}
	}
	s, stop := framework.StartStandaloneUntil(t, dir, onEtcd)
	client := restClient(t, s.Config())
	early := schema.Kinds[0]
	meta := `,"annotations":{"example.com/a":"` + secret + `"}`
	if err := client.Post().AbsPath(early.Collection(namespace)).Body([]byte(early.Object("early", meta))).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	for key, value := range stored(t, store, "early") {
		if !bytes.Contains(value, []byte(secret)) {
			t.Errorf("without encryption %s does not contain the text", key)
		}
	}
	stop()

	file := encryption(t)
	s = framework.StartStandaloneIn(t, dir, onEtcd, func(o *app.Options) { o.Recommended.Etcd.EncryptionProviderConfigFilepath = file })
	client = restClient(t, s.Config())
	for _, kind := range schema.Kinds {
		name := kind.Item()
		if err := client.Post().AbsPath(kind.Collection(namespace)).Body([]byte(kind.Object(name, meta))).Do(t.Context()).Error(); err != nil {
			t.Errorf("creating a %s: %v", kind.Name, err)
			continue
		}
		read, err := client.Get().AbsPath(kind.Collection(namespace), name).Do(t.Context()).Raw()
		if err != nil || !bytes.Contains(read, []byte(secret)) {
			t.Errorf("reading a %s again: %v\n%s", kind.Name, err, read)
		}
	}
	values := stored(t, store, "odd")
	for key, value := range stored(t, store, "default") {
		values[key] = value
	}
	if len(values) != len(schema.Kinds) {
		t.Errorf("the store has %d objects, want one of each of %d kinds", len(values), len(schema.Kinds))
	}
	for key, value := range values {
		if !bytes.HasPrefix(value, []byte(encrypted)) || bytes.Contains(value, []byte(secret)) {
			t.Errorf("%s is stored as %.60q, want it to begin with %q and to be unreadable", key, value, encrypted)
		}
	}

	// Existing plain data is readable, and is encrypted at the next write.
	patch := client.Patch(types.MergePatchType).AbsPath(early.Collection(namespace), "early").Body([]byte(`{"metadata":{"labels":{"a":"b"}}}`))
	if read, err := patch.Do(t.Context()).Raw(); err != nil || !bytes.Contains(read, []byte(secret)) {
		t.Errorf("writing a plain object: %v\n%s", err, read)
	}
	for key, value := range stored(t, store, "early") {
		if !bytes.HasPrefix(value, []byte(encrypted)) {
			t.Errorf("after it was written %s is stored as %.60q", key, value)
		}
	}
}
