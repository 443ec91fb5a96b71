// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// other is another replica of slipway-apiserver with the flags of the first one.
type other struct {
	*process.Process
	scene  *scene
	spec   process.Spec
	direct *rest.Config
}

// other starts another replica, which is stopped at the end of the test.
func (s *scene) other() *other {
	s.Helper()
	return s.another("other")
}

// another starts another replica with a name.
func (s *scene) another(name string) *other {
	s.Helper()
	port := freePort(s.T)
	o := &other{
		scene: s, direct: s.direct("https://" + net.JoinHostPort("127.0.0.1", port)),
		spec: process.Spec{
			Name: name, Path: filepath.Join(s.bin, slipway), Args: append(s.arguments(slipway), "--secure-port="+port),
			LogFile: filepath.Join(localcluster.LogDir(s.dir), name+".log"),
		},
	}
	o.start()
	s.Cleanup(func() {
		if err := o.Stop(); err != nil {
			s.Error(err)
		}
	})
	return o
}

// start starts the replica, or restarts it after its end.
func (o *other) start() {
	o.scene.Helper()
	var err error
	if o.Process, err = process.Start(o.spec); err != nil {
		o.scene.Fatal(err)
	}
}

// serves waits until a server is ready.
func (s *scene) serves(direct *rest.Config) {
	s.Helper()
	s.eventually("the server at "+direct.Host+" is ready", func() error {
		if code, _ := s.answer(direct, "/readyz"); code != http.StatusOK {
			return fmt.Errorf("it answers %d", code)
		}
		return nil
	})
}
