// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/progress"
)

// waitLimit bounds each wait for something that should take seconds at most.
const waitLimit = 5 * time.Minute

// A lab is what one case works with: a namespace, clients with records, and what to measure how often.
type lab struct {
	*progress.Progress
	short   bool
	repeats int
	// namespace is that of the case.
	namespace string

	admin       *rest.Config
	name        string
	connections []*connection
	closers     []func() error
	// bench is the client that prepares, meddles and cleans up.
	bench *connection
}

func newLab(ctx context.Context, admin *rest.Config, name string, p *progress.Progress, o options) (*lab, error) {
	l := &lab{Progress: p, short: o.short, repeats: o.repeats, namespace: "bench-" + name, admin: admin, name: name}
	var err error
	if l.bench, err = l.connect("hand"); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}
	if err := l.bench.client.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return nil, fmt.Errorf("creating the namespace: %w", err)
	}
	return l, l.install(ctx)
}

// pick returns the first value in a short run, and else the second.
func pick[T any](l *lab, short, long T) T {
	if l.short {
		return short
	}
	return long
}

// connect makes a client with a user agent that no other client of the run has.
func (l *lab) connect(role string) (*connection, error) {
	c, err := newConnection(l.admin, fmt.Sprintf("%s%s-%s-%d", agentPrefix, l.name, role, len(l.connections)))
	if err != nil {
		return nil, err
	}
	l.connections = append(l.connections, c)
	return c, nil
}

// settle is called before something is measured that is compared with something else. It gives the server a moment for what its
// controllers still have to do, and has its garbage and our own collected: for the server that takes as long as the creation of
// hundreds of objects, which would count for whatever is being measured when it happens.
func (l *lab) settle(ctx context.Context) error {
	if err := progress.Pause(ctx, quiet); err != nil {
		return err
	}
	runtime.GC()
	// Profiles are the only thing of an API server that begins with a collection when asked to.
	server, err := l.bench.rest(&corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if err := server.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Do(ctx).Error(); err != nil {
		return fmt.Errorf("having the garbage of the API server collected: %w", err)
	}
	return nil
}

// atEnd has the function called when the case is over, the last one first.
func (l *lab) atEnd(closer func() error) {
	l.closers = append(l.closers, closer)
}

// close ends what the case has started, and removes what it has created. After that its clients send nothing any more.
func (l *lab) close(ctx context.Context) error {
	var errs []error
	for i := len(l.closers) - 1; i >= 0; i-- {
		errs = append(errs, l.closers[i]())
	}
	errs = append(errs, l.clean(ctx))
	for _, c := range l.connections {
		c.http.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// install brings the definition of the components, unless it is there.
func (l *lab) install(ctx context.Context) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(bundles.BundleDefinition, definition); err != nil {
		return fmt.Errorf("reading the definition of components: %w", err)
	}
	if err := l.bench.client.Create(ctx, definition); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating the definition of components: %w", err)
	}
	return l.await(ctx, "the definition of components to be served", func(ctx context.Context) (bool, string) {
		err := l.bench.client.List(ctx, &bundles.BundleList{}, client.InNamespace(l.namespace))
		return err == nil, fmt.Sprint(err)
	})
}

// await asks until the answer is yes; it is for preparations, not for what is measured.
func (l *lab) await(ctx context.Context, what string, ready func(context.Context) (bool, string)) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		ok, reason := ready(ctx)
		if ok {
			return nil
		}
		l.Tick("%s: waiting for %s (%s)", l.name, what, reason)
		if err := progress.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for %s: %w (%s)", what, err, reason)
		}
	}
}

// clean removes all components, without the help of their operator, and all objects in the namespace.
func (l *lab) clean(ctx context.Context) error {
	list := &bundles.BundleList{}
	if err := l.bench.client.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	err := parallel(ctx, len(list.Items), func(ctx context.Context, i int) error {
		return l.discard(ctx, &list.Items[i])
	})
	if err != nil {
		return err
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := l.bench.client.List(ctx, definitions); err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for i := range definitions.Items {
		group := definitions.Items[i].Spec.Group
		if strings.HasPrefix(group, l.name+"-") && strings.HasSuffix(group, "."+bundles.ReconcilerName) {
			if err := l.discard(ctx, &definitions.Items[i]); err != nil {
				return err
			}
		}
	}
	return errors.Join(l.removeAll(ctx, &corev1.ConfigMap{}), l.removeAll(ctx, bundles.NewDeployment("", "")))
}

// discard deletes an object although it has finalizers.
func (l *lab) discard(ctx context.Context, object client.Object) error {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	err := l.bench.client.Patch(ctx, object, patch)
	if err == nil {
		err = l.bench.client.Delete(ctx, object)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("discarding %s: %w", object.GetName(), err)
	}
	return nil
}

// removeAll deletes all objects of a kind in the namespace.
func (l *lab) removeAll(ctx context.Context, of client.Object) error {
	kind, err := l.bench.client.GroupVersionKindFor(of)
	if err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := l.bench.client.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
		return fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if err := l.bench.deleteEach(ctx, of, l.namespace, names); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
}
