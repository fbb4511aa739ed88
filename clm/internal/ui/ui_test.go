// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer starts a server with one page, which reads the body of the request.
func startServer(t *testing.T, timeout time.Duration) (*gatekeeper, string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, err := newGatekeeper(listener.Addr(), "/prefix", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprint(w, "the page")
	}))
	if err != nil {
		t.Fatal(err)
	}
	server := d.server()
	server.ReadTimeout = timeout
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended; http.DefaultClient.CloseIdleConnections() })
	return d, listener.Addr().String()
}

func TestGatekeeper(t *testing.T) {
	d, address := startServer(t, time.Minute)
	_, port, _ := strings.Cut(address, ":")
	cookie := d.cookie + "=" + d.token
	for name, attempt := range map[string]struct {
		method, path, host, cookie string
		header                     map[string]string
		body                       io.Reader
		want                       int
	}{
		"the user":                           {cookie: cookie, want: http.StatusOK},
		"the user, by the name of the host":  {cookie: cookie, host: "localhost:" + port, want: http.StatusOK},
		"the user sends a form":              {method: http.MethodPost, cookie: cookie, header: map[string]string{"Origin": "http://" + address, "Sec-Fetch-Site": "same-origin"}, want: http.StatusOK},
		"no token":                           {want: http.StatusUnauthorized},
		"a wrong token":                      {path: "/prefix/login?token=wrong", want: http.StatusUnauthorized},
		"no token at the login":              {path: "/prefix/login", want: http.StatusUnauthorized},
		"the token in another address":       {path: "/prefix/?token=" + d.token, want: http.StatusUnauthorized},
		"the token at another path":          {path: "/login?token=" + d.token, want: http.StatusUnauthorized},
		"the cookie at another path":         {path: "/other/", cookie: cookie, want: http.StatusNotFound},
		"a wrong cookie":                     {cookie: d.cookie + "=wrong", want: http.StatusUnauthorized},
		"an empty cookie":                    {cookie: d.cookie + "=", want: http.StatusUnauthorized},
		"the cookie of another port":         {cookie: "clm-1=" + d.token, want: http.StatusUnauthorized},
		"a foreign name for the address":     {cookie: cookie, host: "attacker.example:" + port, want: http.StatusMisdirectedRequest},
		"a foreign name, and the token":      {path: "/prefix/login?token=" + d.token, host: "attacker.example:" + port, want: http.StatusMisdirectedRequest},
		"no port":                            {cookie: cookie, host: "127.0.0.1", want: http.StatusMisdirectedRequest},
		"a form of a foreign site":           {method: http.MethodPost, cookie: cookie, header: map[string]string{"Origin": "https://attacker.example"}, want: http.StatusForbidden},
		"a form of nowhere":                  {method: http.MethodPost, cookie: cookie, header: map[string]string{"Origin": "null"}, want: http.StatusForbidden},
		"a form of another port":             {method: http.MethodPost, cookie: cookie, header: map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, want: http.StatusForbidden},
		"a form that hides where it is from": {method: http.MethodPost, cookie: cookie, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: http.StatusForbidden},
		"a large body":                       {method: http.MethodPost, cookie: cookie, body: io.LimitReader(zeros{}, maxBody+1), want: http.StatusRequestEntityTooLarge},
		"large headers":                      {cookie: cookie, header: map[string]string{"X": strings.Repeat("x", 2*maxHeader)}, want: http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			method, path := attempt.method, attempt.path
			if method == "" {
				method = http.MethodGet
			}
			if path == "" {
				path = "/prefix/"
			}
			request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, attempt.body)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = attempt.host
			if attempt.cookie != "" {
				request.Header.Set("Cookie", attempt.cookie)
			}
			for key, value := range attempt.header {
				request.Header.Set(key, value)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != attempt.want {
				t.Errorf("got %s: %s", response.Status, body)
			}
			if isInside := strings.Contains(string(body), "the page"); isInside != (attempt.want == http.StatusOK) {
				t.Errorf("reached the pages: %t", isInside)
			}
			if strings.Contains(string(body), d.token) {
				t.Error("the answer has the token")
			}
			if response.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
				return // the server answers before the gatekeeper is asked
			}
			for header, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
				if got := response.Header.Get(header); !strings.Contains(got, want) {
					t.Errorf("header %s: %q lacks %q", header, got, want)
				}
			}
		})
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(text []byte) (int, error) { return len(text), nil }

func TestLogin(t *testing.T) {
	d, address := startServer(t, time.Minute)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, port, _ := strings.Cut(address, ":")
	want := fmt.Sprintf("clm-%s=%s; Path=/prefix/; HttpOnly; SameSite=Strict", port, d.token)
	if got := response.Header.Get("Set-Cookie"); got != want {
		t.Errorf("cookie: got %q, want %q", got, want)
	}
	if got := response.Header.Get("Refresh"); got != "0; url=/prefix/" {
		t.Errorf("the browser goes to %q", got)
	}
}

// TestEndlessRequest sends a byte of a body from time to time.
func TestEndlessRequest(t *testing.T) {
	d, address := startServer(t, 50*time.Millisecond)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST /prefix/ HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\nContent-Length: 1000000\r\n\r\n", address, d.cookie, d.token)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if _, err := connection.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	// The server ends the request although its body goes on.
	_, _ = io.Copy(io.Discard, bufio.NewReader(connection))
	stop()
	<-ended
}

func TestOnlyLoopback(t *testing.T) {
	for _, address := range []net.Addr{&net.TCPAddr{IP: net.IPv4zero, Port: 1}, &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 1}, &net.UnixAddr{Name: "x"}} {
		if _, err := newGatekeeper(address, "", nil); err == nil || !strings.Contains(err.Error(), "only loopback addresses are allowed") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestANSIToHTML(t *testing.T) {
	for text, want := range map[string]string{
		"a \x1b[32m<b>\x1b[0m & c":                 `a <span class="green">&lt;b&gt;</span> &amp; c`,
		"\x1b[31mopen":                             `<span class="red">open</span>`,
		"\x1b[0m\x1b[99m\x1b[31\">m<script>":       "\x1b[31&#34;&gt;m&lt;script&gt;",
		"\x1b[1m\x1b[33mboth\x1b[0m\x1b[0m\x1b[0m": `<span class="bold"><span class="yellow">both</span></span>`,
	} {
		if got := string(ansiToHTML(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestFeeds checks that readers share a feed, and that it ends after the last one.
func TestFeeds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	all, begun, ended := newFeeds(ctx), make(chan struct{}, 9), make(chan struct{}, 9)
	run := func(ctx context.Context, tell func(value any, trouble string)) error {
		begun <- struct{}{}
		tell("value", "")
		tell(nil, "trouble")
		<-ctx.Done()
		ended <- struct{}{}
		return nil
	}
	one, leaveOne := all.join("a", run)
	other, leaveOther := all.join("a", run)
	if one != other {
		t.Error("readers of the same name do not share a feed")
	}
	<-begun
	for st := one.now(); st.trouble == ""; st = one.now() {
		<-st.changed
	}
	if st := one.now(); st.value != "value" || st.trouble != "trouble" {
		t.Errorf("got %v, %q", st.value, st.trouble)
	}
	leaveOne()
	leaveOne()
	if _, running := all.open["a"]; !running {
		t.Error("the feed has ended before its last reader has left")
	}
	leaveOther()
	<-ended
	all.wait()
	failing, leave := all.join("b", func(context.Context, func(any, string)) error { return errors.New("broken") })
	defer leave()
	for st := failing.now(); !st.ended; st = failing.now() {
		<-st.changed
	}
	if st := failing.now(); st.trouble != "broken" {
		t.Errorf("got %q", st.trouble)
	}
	again, leaveAgain := all.join("b", run)
	defer leaveAgain()
	if again == failing {
		t.Error("a reader gets a feed that has ended")
	}
	<-begun
	stop()
	all.wait()
}
