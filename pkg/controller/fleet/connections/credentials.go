// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// secretTimeout is the time limit for reading a Secret, so that a management cluster that does not answer is reported.
const secretTimeout = 30 * time.Second

// vcenterCredentials is the content of a file or Secret with credentials.
type vcenterCredentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// FileCredentials reads a file with the keys username and password at every login, so that a
// changed password needs no restart.
func FileCredentials(path string) session.Credentials {
	return func(context.Context) (string, string, error) { return readCredentialsFile(path) }
}

// SecretCredentials reads a Secret with the keys username and password at every login.
func SecretCredentials(host kubernetes.Interface, secret types.NamespacedName) session.Credentials {
	return func(ctx context.Context) (string, string, error) {
		ctx, cancel := context.WithTimeout(ctx, secretTimeout)
		defer cancel()
		s, err := host.CoreV1().Secrets(secret.Namespace).Get(ctx, secret.Name, metav1.GetOptions{})
		if err != nil {
			return "", "", fmt.Errorf("reading Secret %s: %w", secret, err)
		}
		c := vcenterCredentials{Username: string(s.Data["username"]), Password: string(s.Data["password"])}
		if err := c.check(); err != nil {
			return "", "", fmt.Errorf("checking Secret %s: %w", secret, err)
		}
		return c.Username, c.Password, nil
	}
}

func readCredentialsFile(path string) (user, password string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", err // the error contains the path, and the session adds the context
	}
	var c vcenterCredentials
	if yaml.UnmarshalStrict(data, &c) != nil {
		// The parser's error may quote the file, which holds a password.
		return "", "", fmt.Errorf("%s: not YAML with the keys username and password only", path)
	}
	if err := c.check(); err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	return c.Username, c.Password, nil
}

func (c vcenterCredentials) check() error {
	switch {
	case c.Username == "":
		return errors.New("the key username is missing or empty")
	case c.Password == "":
		return errors.New("the key password is missing or empty")
	default:
		return nil
	}
}
