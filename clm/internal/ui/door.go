// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of requests. The body of a request is a form or a saved plan.
const (
	maxHeader      = 16 << 10
	maxBody        = 32 << 20
	requestTimeout = 30 * time.Second
)

// door protects the pages, which act with the rights of the user, from everybody else who can reach the port: other
// users of the machine, and web sites in the browser of the user.
//
//   - Only the names of the loopback address are served, so that a foreign name cannot be pointed to it (421).
//   - The token in the printed address becomes a cookie, and leaves the address (401 without it). Browsers send a cookie
//     to all ports of a host, so the cookie is limited to paths with a prefix that only this browser knows.
//   - Browsers refuse to show the pages in frames, to run foreign scripts in them, and to keep them.
//   - A request of another site that would change something is refused (403).
//   - Headers and bodies are limited in size and time.
type door struct {
	hosts [2]string
	// prefix is the beginning of all paths.
	prefix, cookie, token string
	inside                http.Handler
}

// newDoor returns the door of a server on a loopback address.
func newDoor(address net.Addr, prefix string, inside http.Handler) (*door, error) {
	tcp, isTCP := address.(*net.TCPAddr)
	if !isTCP || !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("address %s: only loopback addresses are allowed, because whoever reaches the pages acts with the rights of the user", address)
	}
	return &door{
		hosts:  [2]string{address.String(), fmt.Sprintf("localhost:%d", tcp.Port)},
		prefix: prefix,
		cookie: fmt.Sprintf("clm-%d", tcp.Port),
		token:  rand.Text(),
		inside: http.MaxBytesHandler(http.NewCrossOriginProtection().Handler(http.StripPrefix(prefix, inside)), maxBody),
	}, nil
}

// url returns the address with the token.
func (d *door) url() string { return "http://" + d.hosts[0] + d.prefix + "/login?token=" + d.token }

// server returns a server behind the door.
func (d *door) server() *http.Server {
	return &http.Server{Handler: d, MaxHeaderBytes: maxHeader, ReadTimeout: requestTimeout, IdleTimeout: time.Minute}
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	switch {
	case r.Host != d.hosts[0] && r.Host != d.hosts[1]:
		http.Error(w, "this host name is not served here", http.StatusMisdirectedRequest)
	case r.URL.Path == d.prefix+"/login" && d.knows(r.URL.Query().Get("token")):
		http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: d.token, Path: d.prefix + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		// A redirect would be part of a navigation that another program has begun, so that the browser would not send a
		// strict cookie yet.
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Refresh", "0; url="+d.prefix+"/")
		fmt.Fprintf(w, `<!doctype html><title>clm</title><link rel="icon" href="%[1]s/static/icon.svg"><a href="%[1]s/">Continue</a>`, d.prefix)
	case !d.admits(r):
		http.Error(w, "open the address that clm ui has printed", http.StatusUnauthorized)
	default:
		d.inside.ServeHTTP(w, r)
	}
}

func (d *door) admits(r *http.Request) bool {
	cookie, err := r.Cookie(d.cookie)
	return err == nil && d.knows(cookie.Value)
}

func (d *door) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(d.token)) == 1
}
