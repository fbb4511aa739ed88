// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// through returns a kubeconfig that leads to the API server through a function, which passes requests on or answers them itself.
func (p *place) through(intercept func(w http.ResponseWriter, r *http.Request, next http.Handler)) (kubeconfig string) {
	p.Helper()
	config := testenv.Config(p)
	transport, err := rest.TransportFor(config)
	if err != nil {
		p.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		p.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
		// What is watched has to arrive at once.
		FlushInterval: -1,
		// Clients end watches whenever they want.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { intercept(w, r, proxy) }))
	p.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return p.file("kubeconfig", fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], "+
		"clusters: [{name: a, cluster: {server: %q}}]}", server.URL))
}

// mortality is the way to the API server of a process that dies.
type mortality struct {
	kubeconfig string
	// writes that were answered so far, also those that came too late.
	writes atomic.Int64
}

// mortal returns a way to the API server that answers the given number of writes, and after that nothing but refusals, as if the process were not
// there any more to hear anything else. With lost the last of these writes is carried out, and its answer does not arrive.
func (p *place) mortal(survived int, lost bool) *mortality {
	p.Helper()
	m := &mortality{}
	m.kubeconfig = p.through(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		number := m.writes.Load()
		isWrite := r.Method != http.MethodGet
		if isWrite {
			number = m.writes.Add(1)
		}
		switch {
		case number > int64(survived):
			http.Error(w, "the process died", http.StatusForbidden)
		case lost && isWrite && number == int64(survived):
			next.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "the process died", http.StatusForbidden)
			m.writes.Add(1)
		default:
			next.ServeHTTP(w, r)
		}
	})
	return m
}

// dead runs clm, with the name of a release as the second argument, by a way to the API server that ends.
func (p *place) dead(m *mortality, args ...string) result {
	p.Helper()
	mortal := *p
	mortal.kubeconfig = m.kubeconfig
	got := mortal.clm(args...)
	// Nobody has to wait until it expires.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm." + args[1]}}
	if err := p.client.Delete(p.Context(), lease); client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	return got
}

// enough writes for anything.
const enough = 1000

// TestDeathDuringDeletionHooks has another process go on after each write of a deletion. No hook runs twice, none is left out.
func TestDeathDuringDeletionHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	apply := func(t *testing.T, p *place, name string) {
		t.Helper()
		p.must("apply", name, p.file(name+".yaml", configMap(name+"-a", "1")+job(name+"-both")+
			job(name+"-both", "deletion-hook", "pre-delete")+job(name+"-z", "deletion-hook", "post-delete")))
	}
	apply(t, p, "r")
	all := p.mortal(enough, false)
	p.expect(p.dead(all, "delete", "r"), 0)
	writes := int(all.writes.Load())
	if writes < 10 || writes > 60 {
		t.Fatalf("a deletion with hooks took %d writes", writes)
	}
	t.Run("deaths", func(t *testing.T) {
		for survived := range writes {
			for _, lost := range []bool{false, true} {
				name := strings.ToLower(fmt.Sprintf("r%d-%t", survived, lost))
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := &place{T: t, namespace: p.namespace, kubeconfig: p.kubeconfig, client: p.client}
					apply(t, p, name)
					if got := p.dead(p.mortal(survived, lost), "delete", name); got.code == 0 && survived < writes-2 {
						t.Errorf("it has not died: %s", got.stderr)
					}
					if got := p.clm("delete", name); got.code != 0 && !strings.Contains(got.stderr, "there is no such release") {
						t.Errorf("exit code %d: %s", got.code, got.stderr)
					}
					testenv.Eventually(t, func() (bool, string) {
						diff := cmp.Diff([]string{name + "-both", name + "-both", name + "-z"}, jobs(name+"-"))
						return diff == "", diff
					})
				})
			}
		}
	})
	p.expectNothing()
}

// TestDeathDuringTests has another process go on after each write of a run of tests. The next run starts anew, and nothing is left behind.
func TestDeathDuringTests(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+test("stays")+test("goes", "purge-order", "0")))
	p.must("test", "web")
	all := p.mortal(enough, false)
	p.expect(p.dead(all, "test", "web"), 0)
	writes := int(all.writes.Load())
	for survived := range writes {
		p.dead(p.mortal(survived, survived%2 == 0), "test", "web")
		if survived%3 == 0 {
			p.must("test", "web")
			if diff := cmp.Diff([]string{"stays"}, p.names("batch/v1", "Job")); diff != "" {
				t.Errorf("after a death after %d of %d writes: %s", survived, writes, diff)
			}
		}
	}
	p.dead(p.mortal(writes/2, true), "test", "web")
	p.must("delete", "web")
	p.expectNothing()
}
