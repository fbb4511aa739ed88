// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
)

// preview measures what an operator of the same version would do, as the command "plan" of operators tells it. The limit
// is to list the components and their dependents, and to render these.
func preview(ctx context.Context, l *lab) ([]figure, error) {
	const dependents = 20
	n := pick(l, 100, 500)
	o, err := l.startMany(ctx, n, BundleSpec{Dependents: dependents, PayloadBytes: dependentBytes})
	if err != nil {
		return nil, err
	}
	if err := o.stop(); err != nil {
		return nil, fmt.Errorf("running the operator: %w", err)
	}
	c, err := l.connect("preview")
	if err != nil {
		return nil, err
	}
	var times, limits []time.Duration
	var sent []int
	for range l.repeats {
		began := time.Now()
		if err := l.listAndRender(ctx); err != nil {
			return nil, err
		}
		limits = append(limits, time.Since(began))
		before := c.requests.Len()
		began = time.Now()
		if err := c.preview(ctx, l.namespace, n); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
		sent = append(sent, c.requests.Len()-before)
	}
	return []figure{
		speed(fmt.Sprintf("%d x %d dependents, previewed", n, dependents), times, limits).atMost(barRatio, 1.5),
		most("requests", sent...).atMost(barValue, float64(n)),
	}, nil
}

// preview plans n components, none of which may change.
func (c *connection) preview(ctx context.Context, namespace string, n int) error {
	p, err := component.NewPreview(c.config, c.client.Scheme())
	if err != nil {
		return err
	}
	if err := component.NewReconciler[*Bundle](reconcilerName, bundleGenerator{}, component.ReconcilerOptions{}).SetupWithManager(p); err != nil {
		return err
	}
	for previewed, err := range p.Components(ctx, component.PreviewOptions{Namespace: namespace}) {
		if err != nil {
			return err
		}
		if previewed.Plan == nil || previewed.Problem != "" {
			return fmt.Errorf("%s is not planned: %s%s", previewed.Name, previewed.Problem, previewed.Held)
		}
		for _, change := range previewed.Plan.Changes {
			if change.Verb != "" {
				return fmt.Errorf("%s would be %s: %s", change.Object, change.Verb, change.Reason)
			}
		}
		n--
	}
	if n != 0 {
		return fmt.Errorf("%d components are missing", n)
	}
	return nil
}

// listAndRender reads the components and the dependents page by page, and renders the dependents.
func (l *lab) listAndRender(ctx context.Context) error {
	const page = 100
	for next := ""; ; {
		bundles := &BundleList{}
		if err := l.bare.client.List(ctx, bundles, client.InNamespace(l.namespace), client.Limit(page), client.Continue(next)); err != nil {
			return fmt.Errorf("listing components: %w", err)
		}
		for i := range bundles.Items {
			if _, err := (bundleGenerator{}).Generate(ctx, l.namespace, bundles.Items[i].Name, bundles.Items[i].GetSpec()); err != nil {
				return err
			}
		}
		if next = bundles.Continue; next == "" {
			break
		}
	}
	for next := ""; ; {
		objects := &corev1.ConfigMapList{}
		if err := l.bare.client.List(ctx, objects, client.InNamespace(l.namespace), client.Limit(page*20), client.Continue(next)); err != nil {
			return fmt.Errorf("listing dependents: %w", err)
		}
		if next = objects.Continue; next == "" {
			return nil
		}
	}
}
