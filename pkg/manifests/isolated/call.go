// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
)

// call is a request to read from a cluster; one of its fields is set, besides Local.
type call struct {
	// Local means the cluster of the component, instead of the target cluster.
	Local     bool         `json:"local"`
	Discovery *struct{}    `json:"discovery"`
	Mapping   *mappingCall `json:"mapping"`
	Get       *getCall     `json:"get"`
	List      *listCall    `json:"list"`
}

type mappingCall struct {
	Kind     schema.GroupKind `json:"kind"`
	Versions []string         `json:"versions"`
}

type getCall struct {
	Kind         schema.GroupVersionKind `json:"kind"`
	MetadataOnly bool                    `json:"metadataOnly"`
	Key          client.ObjectKey        `json:"key"`
	Options      *metav1.GetOptions      `json:"options"`
}

type listCall struct {
	Kind         schema.GroupVersionKind `json:"kind"`
	MetadataOnly bool                    `json:"metadataOnly"`
	Namespace    string                  `json:"namespace"`
	Options      metav1.ListOptions      `json:"options"`
}

// answer is the response to a call.
type answer struct {
	Discovery *cluster.Discovery `json:"discovery"`
	Mapping   *mapping           `json:"mapping"`
	Content   map[string]any     `json:"content"`
	Failure   *failure           `json:"failure"`
}

type mapping struct {
	Resource schema.GroupVersionResource `json:"resource"`
	Kind     schema.GroupVersionKind     `json:"kind"`
	Scope    meta.RESTScopeName          `json:"scope"`
}

// respond answers a call with the clients in the context, which record that the cluster was read.
func respond(ctx context.Context, asked call) answer {
	result, err := asked.respond(ctx)
	if err != nil {
		return answer{Failure: failureOf(err)}
	}
	return result
}

func (c call) respond(ctx context.Context) (answer, error) {
	if c.Discovery != nil {
		discovery, err := generator.DiscoveryFromContext(ctx)
		return answer{Discovery: discovery}, err
	}
	get := generator.ClientFromContext
	if c.Local {
		get = generator.LocalClientFromContext
	}
	clnt, err := get(ctx)
	if err != nil {
		return answer{}, err
	}
	switch {
	case c.Mapping != nil:
		return c.Mapping.respond(clnt)
	case c.Get != nil:
		return c.Get.respond(ctx, clnt)
	case c.List != nil:
		return c.List.respond(ctx, clnt)
	default:
		return answer{}, errors.New("the call asks for nothing")
	}
}

func (c mappingCall) respond(clnt cluster.Client) (answer, error) {
	found, err := clnt.RESTMapper().RESTMapping(c.Kind, c.Versions...)
	if err != nil {
		return answer{}, err
	}
	return answer{Mapping: &mapping{Resource: found.Resource, Kind: found.GroupVersionKind, Scope: found.Scope.Name()}}, nil
}

func (c getCall) respond(ctx context.Context, clnt cluster.Client) (answer, error) {
	read := client.Object(&unstructured.Unstructured{})
	if c.MetadataOnly {
		read = &metav1.PartialObjectMetadata{}
	}
	read.GetObjectKind().SetGroupVersionKind(c.Kind)
	if err := clnt.Get(ctx, c.Key, read, &client.GetOptions{Raw: c.Options}); err != nil {
		return answer{}, err
	}
	return contentOf(read)
}

func (c listCall) respond(ctx context.Context, clnt cluster.Client) (answer, error) {
	read := client.ObjectList(&unstructured.UnstructuredList{})
	if c.MetadataOnly {
		read = &metav1.PartialObjectMetadataList{}
	}
	read.GetObjectKind().SetGroupVersionKind(c.Kind)
	options := &client.ListOptions{Namespace: c.Namespace, Limit: c.Options.Limit, Continue: c.Options.Continue, Raw: &c.Options}
	var err error
	if c.Options.LabelSelector != "" {
		if options.LabelSelector, err = labels.Parse(c.Options.LabelSelector); err != nil {
			return answer{}, err
		}
	}
	if c.Options.FieldSelector != "" {
		if options.FieldSelector, err = fields.ParseSelector(c.Options.FieldSelector); err != nil {
			return answer{}, err
		}
	}
	if err := clnt.List(ctx, read, options); err != nil {
		return answer{}, err
	}
	return contentOf(read)
}

func contentOf(read runtime.Object) (answer, error) {
	if u, ok := read.(runtime.Unstructured); ok {
		return answer{Content: u.UnstructuredContent()}, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(read)
	if err != nil {
		return answer{}, fmt.Errorf("converting what was read: %w", err)
	}
	return answer{Content: content}, nil
}
