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

// gatekeeper protects the pages, which have the permissions of the user, from other users of the machine and from other
// web sites:
//
//   - Requests for other host names are rejected (421); this prevents DNS rebinding.
//   - A request needs the token as a cookie (401). The printed address sets it. Browsers send a cookie to all ports of a
//     host, so it is limited to paths with a random prefix.
//   - Browsers do not show the pages in frames, run foreign scripts, or cache them.
//   - Cross-origin requests that could change something are rejected (403).
//   - The size of headers and bodies is limited, and the time to send them.
type gatekeeper struct {
	hosts [2]string
	// prefix is the beginning of all paths.
	prefix, cookie, token string
	next                  http.Handler
}

// newGatekeeper returns the gatekeeper of a server on a loopback address.
func newGatekeeper(address net.Addr, prefix string, next http.Handler) (*gatekeeper, error) {
	tcp, isTCP := address.(*net.TCPAddr)
	if !isTCP || !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("address %s: only loopback addresses are allowed, because whoever reaches the pages acts with the rights of the user", address)
	}
	return &gatekeeper{
		hosts:  [2]string{address.String(), fmt.Sprintf("localhost:%d", tcp.Port)},
		prefix: prefix,
		cookie: fmt.Sprintf("clm-%d", tcp.Port),
		token:  rand.Text(),
		next:   http.MaxBytesHandler(http.NewCrossOriginProtection().Handler(http.StripPrefix(prefix, next)), maxBody),
	}, nil
}

// url returns the address with the token.
func (g *gatekeeper) url() string {
	return "http://" + g.hosts[0] + g.prefix + "/login?token=" + g.token
}

// server returns a server whose requests the gatekeeper checks.
func (g *gatekeeper) server() *http.Server {
	return &http.Server{Handler: g, MaxHeaderBytes: maxHeader, ReadTimeout: requestTimeout, IdleTimeout: time.Minute}
}

// ServeHTTP implements http.Handler.
func (g *gatekeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	case r.Host != g.hosts[0] && r.Host != g.hosts[1]:
		http.Error(w, "unknown host name; open the address that clm ui has printed", http.StatusMisdirectedRequest)
	case r.URL.Path == g.prefix+"/login" && g.isToken(r.URL.Query().Get("token")):
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: g.prefix + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		// A redirect would be part of a navigation that another program has begun, so that the browser would not send a
		// strict cookie yet.
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Refresh", "0; url="+g.prefix+"/")
		fmt.Fprintf(w, `<!doctype html><title>clm</title><link rel="icon" href="%[1]s/static/icon.svg"><a href="%[1]s/">Continue</a>`, g.prefix)
	case !g.hasCookie(r):
		http.Error(w, "open the address that clm ui has printed", http.StatusUnauthorized)
	default:
		g.next.ServeHTTP(w, r)
	}
}

func (g *gatekeeper) hasCookie(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookie)
	return err == nil && g.isToken(cookie.Value)
}

func (g *gatekeeper) isToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}
