// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/doctor"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/testenv"
)

// place is a namespace with releases.
type place struct {
	*testing.T

	namespace string
	client    client.Client
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return &place{T: t, namespace: testenv.Namespace(t), client: testenv.Client(t)}
}

func (p *place) open(config *rest.Config) *runner.Connection {
	p.Helper()
	s, err := runner.Open(runner.Options{Config: config, Holder: "test"})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(s.Close)
	return s
}

// apply makes a release of ConfigMaps by these names.
func (p *place) apply(s *runner.Connection, release string, names ...string) {
	p.Helper()
	var documents []string
	for _, name := range names {
		documents = append(documents, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
	}
	path := filepath.Join(p.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600); err != nil {
		p.Fatal(err)
	}
	set, err := sources.Load(p.Context(), []string{path}, sources.Options{})
	if err != nil {
		p.Fatal(err)
	}
	plan, err := operation.PlanSources(p.Context(), s, operation.Request{Namespace: p.namespace, Name: release, Sources: set}, false)
	if err != nil {
		p.Fatal(err)
	}
	defer plan.Close()
	if err := plan.Apply(p.Context(), operation.Options{}); err != nil {
		p.Fatal(err)
	}
}

func (p *place) delete(s *runner.Connection, release string) {
	p.Helper()
	d, err := operation.PlanDeletion(p.Context(), s, operation.DeletionRequest{Namespace: p.namespace, Name: release})
	if err != nil {
		p.Fatal(err)
	}
	defer d.Close()
	if err := d.Delete(p.Context(), runner.Limits{}); err != nil {
		p.Error(err)
	}
}

// owner is the name of the release that owns a ConfigMap.
func (p *place) owner(name string) string {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		p.Fatal(err)
	}
	return strings.TrimPrefix(object.Annotations["clm.cs.sap.com/owner-id"], "clm.cs.sap.com/"+p.namespace+"/")
}

// recorders are the releases that have recorded a ConfigMap.
func (p *place) recorders(s *runner.Connection, name string) string {
	p.Helper()
	var found []string
	for _, release := range []string{"a", "b"} {
		record, err := s.Records().Get(p.Context(), p.namespace, release)
		if err != nil {
			p.Fatal(err)
		}
		for _, item := range record.Inventory {
			if item.Name == name {
				found = append(found, release)
			}
		}
	}
	return strings.Join(found, ",")
}

// unlock removes what keeps others away for a while after a process has died.
func (p *place) unlock() {
	p.Helper()
	if err := p.client.DeleteAllOf(p.Context(), &coordinationv1.Lease{}, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) move(ctx context.Context, s *runner.Connection, name string) error {
	from, to := apitypes.NamespacedName{Namespace: p.namespace, Name: "a"}, apitypes.NamespacedName{Namespace: p.namespace, Name: "b"}
	t, err := operation.PlanMove(ctx, s, from, to, []string{"ConfigMap/" + name}, false)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Move(ctx, operation.Options{})
}

// mortal is a connection that dies with one of its writes: it, or its response, does not arrive, and nothing that
// follows does.
func mortal(config *rest.Config, survived int64, answered bool, died func()) *rest.Config {
	var writes atomic.Int64
	return testenv.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		count := writes.Load()
		if request.Method != http.MethodGet {
			count = writes.Add(1)
		}
		if count <= survived {
			return next.RoundTrip(request)
		}
		if count == survived+1 && !answered && request.Method != http.MethodGet {
			if response, err := next.RoundTrip(request); err == nil {
				_ = response.Body.Close()
			}
		}
		died()
		return nil, errors.New("the process has died")
	})
}

// TestMoveSurvivesDeath lets the process that moves an object die at each of its writes. The next one finishes it,
// whether the doctor has repaired records before or not.
func TestMoveSurvivesDeath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const most = 40
	var names []string
	for i := range most {
		names = append(names, fmt.Sprintf("object-%02d", i))
	}
	s := p.open(testenv.Config(t))
	p.apply(s, "a", append(names, "stays")...)
	p.apply(s, "b", "other")
	survived := 0
	for i, name := range names {
		ctx, died := context.WithCancel(t.Context())
		err := p.move(ctx, p.open(mortal(testenv.Config(t), int64(i/2), i%2 == 0, died)), name)
		died()
		p.unlock()
		if owner := p.owner(name); owner != "a" && owner != "b" {
			t.Fatalf("death at write %d: %s is owned by %q", i/2+1, name, owner)
		}
		if err == nil {
			survived++
			break
		}
		if recorders := p.recorders(s, name); !strings.Contains(recorders, p.owner(name)) {
			t.Errorf("death at write %d: %s is owned by %s, and recorded by %s", i/2+1, name, p.owner(name), recorders)
		}
		p.finish(s, name, i%3 == 0)
		if owner, recorders := p.owner(name), p.recorders(s, name); owner != "b" || recorders != "b" {
			t.Fatalf("death at write %d: after another attempt, %s is owned by %s, and recorded by %s", i/2+1, name, owner, recorders)
		}
	}
	if survived == 0 {
		t.Errorf("a move of one object takes more than %d writes", most/2)
	}
	p.delete(s, "a")
	p.delete(s, "b")
}

// finish does the same again, also after a repair of the records.
func (p *place) finish(s *runner.Connection, name string, byDoctor bool) {
	p.Helper()
	if byDoctor {
		diagnosis, err := doctor.Examine(p.Context(), s, doctor.Request{Namespace: p.namespace})
		if err != nil {
			p.Fatal(err)
		}
		for _, finding := range diagnosis.Findings {
			if finding.Remedy == "" {
				continue
			}
			if err := finding.Repair(p.Context()); err != nil {
				p.Errorf("%s: %s: %v", finding.Kind, finding.Message, err)
			}
		}
	}
	if err := p.move(p.Context(), s, name); err != nil {
		p.Fatal(err)
	}
}
