// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/testenv"
)

// place is a namespace in which a test works on releases with clm, in this process.
type place struct {
	*testing.T

	namespace  string
	kubeconfig string
	client     client.Client
	stdin      string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, namespace: testenv.Namespace(t), kubeconfig: testenv.Kubeconfig(t), client: testenv.Client(t)}
	t.Cleanup(p.forget)
	return p
}

// forget takes the finalizers off the records of releases that a test has left, so that the namespace can go.
func (p *place) forget() {
	ctx := context.WithoutCancel(p.Context())
	secrets := &corev1.SecretList{}
	if err := p.client.List(ctx, secrets, client.InNamespace(p.namespace)); err != nil {
		p.Error(err)
	}
	for _, secret := range secrets.Items {
		if len(secret.Finalizers) > 0 {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := p.client.Patch(ctx, &secret, patch); client.IgnoreNotFound(err) != nil {
				p.Error(err)
			}
		}
	}
}

// clm runs clm in the namespace. It need not be asked whether it agrees.
func (p *place) clm(args ...string) result {
	p.Helper()
	return p.clmContext(p.Context(), args...)
}

func (p *place) clmContext(ctx context.Context, args ...string) result {
	p.Helper()
	var stdout, stderr testenv.Output
	s := streams{in: strings.NewReader(p.stdin), out: &stdout, err: &stderr}
	code := run(ctx, s, append(consenting(args), "--kubeconfig", p.kubeconfig, "--namespace", p.namespace))
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// timesOut runs clm until it has said a text, in which PLACE stands for the namespace, and then has its time be over,
// however fast the machine is. The arguments have a longer --timeout, which messages name.
//
// That clm waits for a wave is also said if an object could not be written because its controller has changed it at the
// same time: where a Deployment is updated, its own line is the text.
//
// The time stays over: clm can neither revert what has failed, nor explain to people why objects are not ready.
func (p *place) timesOut(sign string, args ...string) result {
	p.Helper()
	sign = strings.ReplaceAll(sign, "PLACE", p.namespace)
	return p.timesOutWhen(func(said string) bool { return strings.Contains(said, sign) }, args...)
}

// timesOutWhen is timesOut for any condition about what clm has said.
func (p *place) timesOutWhen(holds func(said string) bool, args ...string) result {
	p.Helper()
	ctx, end := context.WithCancelCause(p.Context())
	var stdout, stderr testenv.Output
	var code int
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		defer close(ended)
		s := streams{in: strings.NewReader(p.stdin), out: &stdout, err: &stderr}
		code = run(ctx, s, append(consenting(args), "--kubeconfig", p.kubeconfig, "--namespace", p.namespace))
	})
	defer running.Wait()
	defer end(nil)
	testenv.Eventually(p, func() (bool, string) {
		said := stdout.String() + stderr.String()
		select {
		case <-ended:
			p.Fatalf("clm %s has ended before its time was over:\n%s", strings.Join(args, " "), said)
		default:
		}
		return holds(said), said
	})
	end(runner.ErrTimeout)
	running.Wait()
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// must runs clm, which has to be successful.
func (p *place) must(args ...string) result {
	p.Helper()
	got := p.clm(args...)
	if got.code != 0 {
		p.Fatalf("clm %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	return got
}

// file writes a file and returns its path. PLACE stands for the namespace.
func (p *place) file(name, content string) string {
	p.Helper()
	path := filepath.Join(p.TempDir(), name)
	p.write(path, content)
	return path
}

func (p *place) write(path, content string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "PLACE", p.namespace)), 0o600); err != nil {
		p.Fatal(err)
	}
}

// names returns the names of the objects of a kind that the release has made, sorted by the server.
func (p *place) names(apiVersion, kind string) []string {
	p.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = apiVersion, kind+"List"
	if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace), client.HasLabels{"clm.cs.sap.com/owner-id"}); err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// configMap returns the data of a ConfigMap; nil if it does not exist.
func (p *place) configMap(name string) map[string]string {
	p.Helper()
	object := &corev1.ConfigMap{}
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	return object.Data
}

// items reads a list that clm has printed for programs.
func (p *place) items(text string) []unstructured.Unstructured {
	p.Helper()
	list := &unstructured.UnstructuredList{}
	if err := json.Unmarshal([]byte(text), list); err != nil {
		p.Fatalf("%v in %s", err, text)
	}
	return list.Items
}

// text returns a field of an object; empty if there is none.
func (p *place) text(object unstructured.Unstructured, path ...string) string {
	p.Helper()
	text, _, err := unstructured.NestedString(object.Object, path...)
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// configMap is the manifest of a ConfigMap.
func configMap(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %q}\n", name, value)
}

// change changes a ConfigMap as another client.
func (p *place) change(name, value string) {
	p.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"value":%q}}`, value))
	if err := p.client.Patch(p.Context(), object, patch, client.FieldOwner("somebody")); err != nil {
		p.Fatal(err)
	}
}

// run is Main for streams and a context of the caller's choice.
func run(ctx context.Context, s streams, args []string) int {
	return execute(ctx, newRootCommand(&environment{streams: s}), args)
}
