// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// phasesOfMany is the number of phases over which the objects of a set are spread.
const phasesOfMany = 10

// objectSets measures an ObjectSet from its creation until it is available, and what its operator requests at rest.
func objectSets(ctx context.Context, l *lab) ([]measured.Figure, error) {
	if err := l.installSets(ctx); err != nil {
		return nil, err
	}
	operator, err := l.startSets(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := l.connect("bare")
	if err != nil {
		return nil, err
	}
	if err := l.warm(ctx, bare); err != nil {
		return nil, err
	}
	var times, limit []time.Duration
	var atRest, others []requests.Request
	s := &stage{lab: l, bare: bare}
	err = s.repeat(ctx, func(name string, found limits) error {
		written, err := bare.writeSet(ctx, name)
		if err != nil {
			return err
		}
		if err := l.settle(ctx); err != nil {
			return err
		}
		sent := operator.requests.Len()
		took, err := l.rollOut(ctx, name)
		if err != nil {
			return err
		}
		times, limit = append(times, took), append(limit, written+found.apply)
		if err := l.settle(ctx); err != nil {
			return err
		}
		others = besidesWatches(operator.requests.Since(sent))
		others = slices.DeleteFunc(others, isDependentWrite)
		before := operator.requests.Len()
		if err := progress.Pause(ctx, 2*time.Second); err != nil {
			return err
		}
		atRest = append(atRest, besidesWatches(operator.requests.Since(before))...)
		return l.removeSet(ctx, name)
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("10 phases of 50, created to Available", times, limit).AtMost(measured.BarRatio, 2),
		measured.Count("other requests of a rollout", len(others)).Noted("%s", oneLine(others)),
		measured.Count("requests at rest besides watches", len(atRest)).Exactly(0).Noted("%s", oneLine(atRest)),
	}, nil
}

// rollOut creates a set and waits until it is available. It returns how long that took.
func (l *lab) rollOut(ctx context.Context, name string) (time.Duration, error) {
	set := manyInPhases(l.namespace, name)
	seen, err := l.watchSets(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = seen.Close() }()
	started := time.Now()
	if err := l.bench.client.Create(ctx, set); err != nil {
		return 0, fmt.Errorf("creating an ObjectSet: %w", err)
	}
	if err := awaitSet(ctx, seen, name); err != nil {
		return 0, err
	}
	return time.Since(started), nil
}

// writeSet creates and deletes a set where no operator looks. It returns how long the creation took: a bare client has to write the set, too.
func (c *connection) writeSet(ctx context.Context, name string) (time.Duration, error) {
	set := manyInPhases(metav1.NamespaceDefault, name)
	started := time.Now()
	if err := c.client.Create(ctx, set); err != nil {
		return 0, fmt.Errorf("measuring the limit of an ObjectSet: %w", err)
	}
	took := time.Since(started)
	return took, client.IgnoreNotFound(c.client.Delete(ctx, set))
}

// besidesWatches returns the requests that are no watches.
func besidesWatches(list []requests.Request) []requests.Request {
	return slices.DeleteFunc(slices.Clone(list), requests.Request.IsWatch)
}

// installSets brings the definitions that the operator watches.
func (l *lab) installSets(ctx context.Context) error {
	for resource, list := range map[string]client.ObjectList{"objectsets": &v1alpha1.ObjectSetList{}, "objectdeployments": &v1alpha1.ObjectDeploymentList{}} {
		raw, err := fs.ReadFile(objectset.CRDs, "crds/core.component-operator.dev_"+resource+".yaml")
		if err != nil {
			return fmt.Errorf("reading the definition of %s: %w", resource, err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(raw, definition); err != nil {
			return fmt.Errorf("reading the definition of %s: %w", resource, err)
		}
		if err := l.bench.client.Create(ctx, definition); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating the definition of %s: %w", resource, err)
		}
		err = l.await(ctx, resource+" to be served", func(ctx context.Context) (bool, string) {
			err := l.bench.client.List(ctx, list, client.InNamespace(l.namespace))
			return err == nil, fmt.Sprint(err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// startSets runs an operator for ObjectSets until the case ends.
func (l *lab) startSets(ctx context.Context) (*connection, error) {
	c, err := l.connect("operator")
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{l.namespace: {}}},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := objectset.SetupWithManager(mgr, objectset.Options{SkipClusterObjectSets: true}); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	l.atEnd(func() error {
		stop()
		return <-stopped
	})
	return c, nil
}

// manyInPhases returns a set with the usual number of objects.
func manyInPhases(namespace, name string) *v1alpha1.ObjectSet {
	set := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for i := range phasesOfMany {
		phase := v1alpha1.Phase{Name: fmt.Sprintf("phase-%d", i)}
		for j := range manyDependents / phasesOfMany {
			object := bundles.NewConfigMap(fmt.Sprintf("%s-%d-%d", name, i, j), bundles.Payload(dependentBytes))
			phase.Objects = append(phase.Objects, v1alpha1.Object{Object: runtime.RawExtension{Object: object}})
		}
		set.Spec.Phases = append(set.Spec.Phases, phase)
	}
	return set
}

// watchSets watches ObjectSets as kubectl does, in the columns of tables: reading or decoding whole ones would be work that counts.
func (l *lab) watchSets(ctx context.Context) (io.ReadCloser, error) {
	server, err := l.bench.rest(&v1alpha1.ObjectSet{})
	if err != nil {
		return nil, err
	}
	found, err := server.Get().Namespace(l.namespace).Resource("objectsets").Param("watch", "true").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching ObjectSets: %w", err)
	}
	return found, nil
}

// awaitSet waits until a watch shows that a set is available.
func awaitSet(ctx context.Context, seen io.ReadCloser, name string) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = seen.Close() })()
	const columnOfName, columnOfAvailable = 0, 1
	for events := json.NewDecoder(seen); ; {
		var event struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			return fmt.Errorf("waiting for an ObjectSet: %w", cmp.Or(context.Cause(ctx), err))
		}
		if event.Type == watch.Error {
			return fmt.Errorf("waiting for an ObjectSet: %s", event.Object)
		}
		var table metav1.Table
		if err := json.Unmarshal(event.Object, &table); err != nil {
			return fmt.Errorf("waiting for an ObjectSet: %w", err)
		}
		for _, row := range table.Rows {
			if row.Cells[columnOfName] == name && row.Cells[columnOfAvailable] == string(component.ConditionTrue) {
				return nil
			}
		}
	}
}

// removeSet deletes a set, and waits until it is gone.
func (l *lab) removeSet(ctx context.Context, name string) error {
	set := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	if err := l.bench.client.Delete(ctx, set); err != nil {
		return fmt.Errorf("deleting an ObjectSet: %w", err)
	}
	return l.await(ctx, "the ObjectSet to be gone", func(ctx context.Context) (bool, string) {
		err := l.bench.client.Get(ctx, client.ObjectKeyFromObject(set), set)
		return client.IgnoreNotFound(err) == nil && err != nil, fmt.Sprint(err)
	})
}
