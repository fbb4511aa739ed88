// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/requests"
)

const (
	// waitLimit limits each wait for something that should take seconds at most.
	waitLimit = 5 * time.Minute
	// manyDependents is the number of dependents of the components for measuring speed, dependentBytes is the size of
	// each.
	manyDependents, dependentBytes = 500, 500
)

// A lab is the environment of one case: a namespace, recording clients, and the number of measurements.
type lab struct {
	short           bool
	repeats         int
	name, namespace string
	admin           *rest.Config
	kubeconfig      string
	closers         []func() error
	// bench prepares, tampers and cleans up; bare measures limits.
	bench, bare *connection
}

func newLab(ctx context.Context, admin *rest.Config, name string, o options) (*lab, error) {
	l := &lab{short: o.short, repeats: o.repeats, name: name, namespace: "bench-" + name, admin: admin}
	var first, second error
	l.bench, first = l.connect("hand")
	l.bare, second = l.connect("bare")
	if err := errors.Join(first, second); err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(bundleDefinition, definition); err != nil {
		return nil, fmt.Errorf("reading the definition of components: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}
	for _, object := range []client.Object{namespace, definition} {
		if err := l.bench.client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return nil, fmt.Errorf("preparing: %w", err)
		}
	}
	var failure error
	served := func(ctx context.Context) (bool, error) {
		failure = l.bench.client.List(ctx, &BundleList{}, client.InNamespace(l.namespace))
		return failure == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waitLimit, true, served); err != nil {
		return nil, fmt.Errorf("listing components: %w", errors.Join(err, failure))
	}
	return l, nil
}

// pick returns the first value in a short run, and the second one otherwise.
func pick[T any](l *lab, short, long T) T {
	if l.short {
		return short
	}
	return long
}

// pause waits. It returns an error if the context ends earlier.
func pause(ctx context.Context, delay time.Duration) error {
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle gives the API server time for its remaining work, and triggers garbage collections in both processes. A
// collection in the API server takes as long as the creation of hundreds of objects, and would distort a running case.
func (l *lab) settle(ctx context.Context) error {
	if err := pause(ctx, quiet); err != nil {
		return err
	}
	runtime.GC()
	server, err := l.bench.core()
	if err != nil {
		return err
	}
	// Only a request for a heap profile makes the API server begin with a garbage collection.
	return server.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Do(ctx).Error()
}

// atEnd registers a function to be called at the end of the case, in reverse order.
func (l *lab) atEnd(closer func() error) { l.closers = append(l.closers, closer) }

// close calls the registered functions and deletes the objects of the case. There are no controllers that would do so.
func (l *lab) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	var errs []error
	for _, closer := range slices.Backward(l.closers) {
		errs = append(errs, closer())
	}
	list := &BundleList{}
	errs = append(errs, l.bench.client.List(ctx, list, client.InNamespace(l.namespace)))
	for i := range list.Items {
		err := l.bench.client.Patch(ctx, &list.Items[i], client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		errs = append(errs, client.IgnoreNotFound(err))
	}
	for _, kind := range []client.Object{&Bundle{}, &corev1.ConfigMap{}} {
		errs = append(errs, l.bench.client.DeleteAllOf(ctx, kind, client.InNamespace(l.namespace)))
	}
	return errors.Join(errs...)
}

// A connection is a client with its own TCP connection and record of requests.
type connection struct {
	agent    string
	config   *rest.Config
	requests *requests.Recorder
	http     *http.Client
	client   client.WithWatch
}

func (l *lab) connect(role string) (*connection, error) {
	c := &connection{agent: "bench-" + l.name + "-" + role, config: rest.CopyConfig(l.admin), requests: &requests.Recorder{}}
	c.config.UserAgent, c.config.QPS = c.agent, -1
	// With its own dialer, the client does not share connections with others in this process.
	c.config.Dial = (&net.Dialer{}).DialContext
	c.config.Wrap(c.requests.Wrap)
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if c.http, err = rest.HTTPClientFor(c.config); err != nil {
		return nil, fmt.Errorf("connecting as %s: %w", c.agent, err)
	}
	l.atEnd(func() error { c.http.CloseIdleConnections(); return nil })
	if c.client, err = client.NewWithWatch(c.config, client.Options{HTTPClient: c.http, Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting as %s: %w", c.agent, err)
	}
	return c, nil
}

// core returns a client for Kubernetes' core types that neither encodes nor decodes.
func (c *connection) core() (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}

// parallel runs work for 0 to n-1, sixteen at a time, and returns the first error.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	return group.Wait()
}

// applyEach creates ConfigMaps by server-side apply, with requests encoded beforehand and without decoding responses:
// this is the limit of the server.
func (c *connection) applyEach(ctx context.Context, namespace string, objects []*unstructured.Unstructured) (time.Duration, error) {
	bodies := make([][]byte, len(objects))
	for i, object := range objects {
		var err error
		if bodies[i], err = object.MarshalJSON(); err != nil {
			return 0, fmt.Errorf("encoding %s: %w", object.GetName(), err)
		}
	}
	return c.each(ctx, namespace, objects, func(server rest.Interface, i int) *rest.Request {
		return server.Patch(apitypes.ApplyPatchType).Param("fieldManager", c.agent).Param("force", "true").Body(bodies[i])
	})
}

// deleteEach deletes ConfigMaps.
func (c *connection) deleteEach(ctx context.Context, namespace string, objects []*unstructured.Unstructured) (time.Duration, error) {
	return c.each(ctx, namespace, objects, func(server rest.Interface, _ int) *rest.Request { return server.Delete() })
}

// each sends a request for each of the ConfigMaps.
func (c *connection) each(
	ctx context.Context, namespace string, objects []*unstructured.Unstructured, request func(server rest.Interface, i int) *rest.Request,
) (time.Duration, error) {
	server, err := c.core()
	if err != nil {
		return 0, err
	}
	started := time.Now()
	err = parallel(ctx, len(objects), func(ctx context.Context, i int) error {
		return request(server, i).Namespace(namespace).Resource("configmaps").Name(objects[i].GetName()).Do(ctx).Error()
	})
	return time.Since(started), err
}

// limits are the times of a bare client for ConfigMaps of the usual size.
type limits struct{ apply, remove time.Duration }

func (l *lab) limits(ctx context.Context, n int) (found limits, err error) {
	objects := make([]*unstructured.Unstructured, n)
	for i := range objects {
		objects[i] = newConfigMap(dependentName("limit", i), payload(dependentBytes))
	}
	if err := l.settle(ctx); err != nil {
		return found, err
	}
	if found.apply, err = l.bare.applyEach(ctx, l.namespace, objects); err != nil {
		return found, fmt.Errorf("measuring the limit of creation: %w", err)
	}
	if err := l.settle(ctx); err != nil {
		return found, err
	}
	if found.remove, err = l.bare.deleteEach(ctx, l.namespace, objects); err != nil {
		return found, fmt.Errorf("measuring the limit of deletion: %w", err)
	}
	return found, l.settle(ctx)
}

// repeat measures first the limit and then the case, in each repetition.
func (l *lab) repeat(ctx context.Context, once func(name string, found limits) error) error {
	// The first request of a client includes the time for its connection.
	if err := l.bare.client.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(l.namespace)); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	for i := range l.repeats {
		found, err := l.limits(ctx, manyDependents)
		if err != nil {
			return err
		}
		if err := once(fmt.Sprintf("%s-%d", l.name, i), found); err != nil {
			return err
		}
	}
	return nil
}
