// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// patience is how long to wait for anything.
	patience = 2 * time.Minute
	// interval is the pause between two checks of an awaited condition.
	interval = 20 * time.Millisecond
)

// A stage has everything that the acts need.
type stage struct {
	screen    *screen
	client    client.WithWatch // reads from the API server, not from the operator's cache
	discovery *discovery.DiscoveryClient
	operator  *operator
	record    *record
	analyzer  *status.Analyzer

	namespace string
	name      string
	began     time.Time
	objects   int // dependents of the component
}

// setUp prepares the cluster, and starts the recording and the operator. Both end with the context or tearDown.
func setUp(ctx context.Context, config *rest.Config, screen *screen) (*stage, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server protects itself
	scheme := parceloperator.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	clnt, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	s := &stage{
		screen:    screen,
		client:    clnt,
		discovery: discoveryClient,
		record:    &record{client: clnt, label: parceloperator.Name + "/" + types.LabelKeySuffixOwnerId},
		analyzer:  status.NewAnalyzer(parceloperator.Name, status.Options{}),
		name:      "main",
		began:     time.Now(),
	}
	if err := s.prepareCluster(ctx); err != nil {
		return nil, err
	}
	if err := s.record.watchAll(ctx, discoveryClient); err != nil {
		return nil, err
	}
	s.operator, err = startOperator(ctx, config)
	return s, err
}

// prepareCluster creates what the operator and its component require: the type, a namespace, and the Secret to which
// the component refers.
func (s *stage) prepareCluster(ctx context.Context) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(parceloperator.CRD, definition); err != nil {
		return fmt.Errorf("reading the type of the component: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "parcels-"}}
	for _, object := range []client.Object{definition, namespace} {
		if err := s.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T: %w", object, err)
		}
	}
	s.namespace = namespace.Name
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "database"},
		StringData: map[string]string{"password": "correct-horse"},
	}
	if err := s.client.Create(ctx, secret); err != nil {
		return fmt.Errorf("creating %T: %w", secret, err)
	}
	return s.await(ctx, "the type of the component to be served", func(ctx context.Context) (bool, string, error) {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, "", err
		}
		return isEstablished(definition), "it is not established", nil
	})
}

// tearDown stops the operator and removes the namespace and the type of the component.
func (s *stage) tearDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "parcelservices.example.io"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	return errors.Join(
		s.operator.shutDown(),
		client.IgnoreNotFound(s.client.Delete(ctx, definition)),
		client.IgnoreNotFound(s.client.Delete(ctx, namespace)),
	)
}

// await checks the condition until it holds. The condition also returns what is missing, which is shown meanwhile, and
// is part of the error after a timeout or if the operator ends.
func (s *stage) await(ctx context.Context, what string, condition func(context.Context) (bool, string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for missing := ""; ; {
		holds, reason, err := condition(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("waiting for %s: %w", what, err)
		case err == nil && holds:
			return nil
		case err == nil:
			missing = reason
			s.screen.Progress(missing)
		}
		if s.operator != nil {
			if err := s.operator.failure(); err != nil {
				return fmt.Errorf("waiting for %s: %w", what, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last seen: %s", what, context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}

// component reads the component.
func (s *stage) component(ctx context.Context) (*v1alpha1.ParcelService, error) {
	service := &v1alpha1.ParcelService{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, service)
	return service, err
}

func isEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// isReady reports whether an object is ready, with the same rules as the operator.
func (s *stage) isReady(object *unstructured.Unstructured) bool {
	result, err := s.analyzer.AnalyzeAnnotated(object)
	return err == nil && result.Status == status.CurrentStatus
}
