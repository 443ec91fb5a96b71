// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// long is for what comes at once, on a machine that has much else to do.
const long = 30 * time.Second

// echo answers with what it is sent.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// newInfo is what to serve with on a free port, and who trusts it.
func newInfo(t *testing.T) (*genericapiserver.SecureServingInfo, *tls.Config) {
	t.Helper()
	pem, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent("test", pem, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &genericapiserver.SecureServingInfo{Listener: l, Cert: content}, &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{"h2"}}
}

// serve serves h until the test ends.
func serve(t *testing.T, h http.Handler, info *genericapiserver.SecureServingInfo) *Server {
	t.Helper()
	s, err := New(info, h)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	t.Cleanup(func() {
		s.Stop(0)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// frames is a client that says each frame by itself.
type frames struct {
	t *testing.T
	*http2.Framer
	close func() error
}

// dial begins a connection, and returns when the server has begun it, too.
func dial(t *testing.T, addr net.Addr, config *tls.Config) frames {
	t.Helper()
	c, err := tls.Dial("tcp", addr.String(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(long)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := frames{t: t, Framer: http2.NewFramer(c, c), close: c.Close}
	f.must(f.WriteSettings())
	f.must(f.WriteSettingsAck())
	return f
}

func (f frames) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// post opens a stream with a body.
func (f frames) post(stream uint32, body string) {
	f.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/"}} {
		f.must(e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	f.must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}))
	f.must(f.WriteData(stream, true, []byte(body)))
}

// next reads up to a GOAWAY, or to the end of a stream, and says it.
func (f frames) next() string {
	f.t.Helper()
	for body := ""; ; {
		frame, err := f.ReadFrame()
		if err != nil {
			f.t.Fatalf("reading a frame: %v", err)
		}
		switch frame := frame.(type) {
		case *http2.GoAwayFrame:
			return fmt.Sprintf("GOAWAY %d %v", frame.LastStreamID, frame.ErrCode)
		case *http2.DataFrame:
			body += string(frame.Data())
			if frame.StreamEnded() {
				return fmt.Sprintf("stream %d: %s", frame.StreamID, body)
			}
		}
	}
}

func (f frames) want(want string) {
	f.t.Helper()
	if got := f.next(); got != want {
		f.t.Fatalf("the client reads %q, want %q", got, want)
	}
}

func TestWhatIsOnItsWayWhileTheServerStopsIsAnswered(t *testing.T) {
	t.Parallel()
	info, trust := newInfo(t)
	s := serve(t, http.HandlerFunc(echo), info)
	f, silent := dial(t, info.Listener.Addr(), trust), dial(t, info.Listener.Addr(), trust)
	f.post(1, "before")
	f.want("stream 1: before")

	go s.Stop(2 * long)
	f.want("GOAWAY 2147483647 NO_ERROR")
	f.post(3, "sent before the client had read it")
	f.want("stream 3: sent before the client had read it")
	silent.want("GOAWAY 2147483647 NO_ERROR")
	if c, err := net.Dial("tcp", info.Listener.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}

func TestWhatIsUnderWayWhenConnectionsEndIsAnswered(t *testing.T) {
	t.Parallel()
	info, trust := newInfo(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-answer
		echo(w, r)
	}), info)
	f, silent := dial(t, info.Listener.Addr(), trust), dial(t, info.Listener.Addr(), trust)
	f.post(1, "slow")
	<-asked

	s.Stop(100 * time.Millisecond)
	for _, f := range []frames{f, silent} {
		f.want("GOAWAY 2147483647 NO_ERROR")
	}
	silent.want("GOAWAY 0 NO_ERROR")
	f.want("GOAWAY 1 NO_ERROR")
	close(answer)
	f.want("stream 1: slow")
}

func TestClientsOfHTTP11AreAnsweredUntilTheirConnectionsEnd(t *testing.T) {
	t.Parallel()
	info, trust := newInfo(t)
	s := serve(t, http.HandlerFunc(echo), info)
	trust.NextProtos = []string{"http/1.1"}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}, Timeout: long}
	post := func() {
		t.Helper()
		resp, err := client.Post("https://"+info.Listener.Addr().String(), "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" || resp.ProtoMajor != 1 {
			t.Fatalf("over HTTP/%d it answers %q, %v", resp.ProtoMajor, body, err)
		}
	}
	post()
	f := dial(t, info.Listener.Addr(), &tls.Config{RootCAs: trust.RootCAs, ServerName: trust.ServerName, NextProtos: []string{"h2"}})
	go s.Stop(2 * long)
	f.want("GOAWAY 2147483647 NO_ERROR")
	post()
	client.CloseIdleConnections()
}

func TestAServerWithoutConnectionsStopsAtOnce(t *testing.T) {
	t.Parallel()
	info, trust := newInfo(t)
	s := serve(t, http.HandlerFunc(echo), info)
	f := dial(t, info.Listener.Addr(), trust)
	f.post(1, "hello")
	f.want("stream 1: hello")
	f.must(f.close())
	s.Stop(time.Hour)
}

func TestConnectionsHaveTheStreamsThatTheFlagSays(t *testing.T) {
	t.Parallel()
	for flag, want := range map[int]uint32{0: 100, 7: 7, 1000: 1000} {
		info, trust := newInfo(t)
		info.HTTP2MaxStreamsPerConnection = flag
		serve(t, http.HandlerFunc(echo), info)
		f := dial(t, info.Listener.Addr(), trust)
		frame, err := f.ReadFrame()
		f.must(err)
		settings, ok := frame.(*http2.SettingsFrame)
		if !ok {
			t.Fatalf("the server begins with %v", frame)
		}
		if streams, _ := settings.Value(http2.SettingMaxConcurrentStreams); streams != want {
			t.Errorf("with %d it lets %d streams, want %d", flag, streams, want)
		}
		if size, _ := settings.Value(http2.SettingMaxFrameSize); size != frameBytes {
			t.Errorf("a frame has %d bytes at most, want %d", size, frameBytes)
		}
	}
}

func TestItServesAsTheFlagsSay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say    func(*genericapiserver.SecureServingInfo)
		client func(*tls.Config)
		want   string
	}{
		"HTTP/2":          {want: "h2, TLS 1.3"},
		"HTTP/1.1":        {client: func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, want: "http/1.1, TLS 1.3"},
		"HTTP/2 disabled": {say: func(i *genericapiserver.SecureServingInfo) { i.DisableHTTP2 = true }, want: "tls: no application protocol"},
		"an old client":   {client: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 }, want: "protocol version"},
		"TLS 1.2":         {client: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, want: "h2, TLS 1.2"},
		"a minimum": {
			say:    func(i *genericapiserver.SecureServingInfo) { i.MinTLSVersion = tls.VersionTLS13 },
			client: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, want: "protocol version",
		},
		"another cipher": {
			say: func(i *genericapiserver.SecureServingInfo) {
				i.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
			},
			client: func(c *tls.Config) {
				c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}
			},
			want: "handshake failure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, trust := newInfo(t)
			if c.say != nil {
				c.say(info)
			}
			if c.client != nil {
				c.client(trust)
			}
			serve(t, http.HandlerFunc(echo), info)
			conn, err := tls.Dial("tcp", info.Listener.Addr().String(), trust)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			defer func() { _ = conn.Close() }()
			state := conn.ConnectionState()
			if got := state.NegotiatedProtocol + ", " + tls.VersionName(state.Version); got != c.want {
				t.Errorf("it speaks %s, want %s", got, c.want)
			}
		})
	}
}
