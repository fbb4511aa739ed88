// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/types"
)

// SubstitutionObjectTransformer replaces references to variables in objects, as a shell does: ${name}, ${name:-default}
// and the other forms of package github.com/fluxcd/pkg/envsubst. A variable that does not exist counts as empty;
// $${name} stands for the text ${name}; a $ without brace stays.
//
// It replaces in the YAML text of the object, so a value may be a number, a boolean or a piece of YAML: "replicas:
// ${n}" becomes a number. A value that must stay a string although it looks like a number needs quotes of its own.
//
// An object that changes is returned as *unstructured.Unstructured; all others are returned as they are. The
// transformer is pure if the selector is nil or [Pure].
type SubstitutionObjectTransformer struct {
	substitutions map[string]string
	selector      types.Selector[client.Object]
}

var (
	_ ContextObjectTransformer = &SubstitutionObjectTransformer{}
	_ Pure                     = &SubstitutionObjectTransformer{}
)

// NewSubstitutionObjectTransformer returns a transformer that replaces the given variables in the objects
// that the selector matches; in all objects if it is nil. The error is always nil.
func NewSubstitutionObjectTransformer(substitutions map[string]string, selector types.Selector[client.Object]) (*SubstitutionObjectTransformer, error) {
	return &SubstitutionObjectTransformer{substitutions: maps.Clone(substitutions), selector: selector}, nil
}

// TransformObjects is TransformObjectsContext for objects that carry apiVersion and kind, or have a type of client-go.
func (t *SubstitutionObjectTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext returns the objects with variables replaced. It does not change the given objects. It fails
// if a reference is malformed, or if the resulting text is not exactly one YAML document.
func (t *SubstitutionObjectTransformer) TransformObjectsContext(
	ctx context.Context, _ string, _ string, objects []client.Object,
) ([]client.Object, error) {
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	transformed := make([]client.Object, len(objects))
	for i, object := range objects {
		transformed[i] = object
		if t.selector != nil && !t.selector.Matches(object) {
			continue
		}
		replaced, err := t.substitute(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("substituting variables in %s: %w", textOf(object), err)
		}
		if replaced != nil {
			transformed[i] = behaviors.Carry(object, replaced)
		}
	}
	return transformed, nil
}

// Fingerprint covers the variables and the selector.
func (t *SubstitutionObjectTransformer) Fingerprint() string {
	selection := ""
	if t.selector != nil {
		pure, ok := t.selector.(Pure)
		if !ok || pure.Fingerprint() == "" {
			return ""
		}
		selection = fmt.Sprintf("%T %q", t.selector, pure.Fingerprint())
	}
	sum, err := manifest.Digest(map[string]any{"substitutions": t.substitutions, "selector": selection})
	if err != nil {
		return ""
	}
	return "substitution/1 " + sum
}

// substitute returns nil if there is nothing to replace.
func (t *SubstitutionObjectTransformer) substitute(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	u, err := unstructuredOf(ctx, object)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), "$") {
		return nil, nil
	}
	replaced, err := envsubst.Eval(string(text), func(variable string) (string, bool) { return t.substitutions[variable], true })
	if err != nil {
		return nil, err
	}
	if replaced == string(text) {
		return nil, nil
	}
	return decodeObject([]byte(replaced))
}

// decodeObject reads one object from YAML. Whole numbers become integers.
func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	text, err := singleDocument(text)
	if err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return u, nil
}

// singleDocument returns the only document with content, or nothing. Decoders would silently take the first one.
func singleDocument(text []byte) ([]byte, error) {
	var found []byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if err := manifest.CheckSingle(document); err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, err
		}
		if content != nil && found != nil {
			return nil, errors.New("the text has more than one YAML document")
		}
		if content != nil {
			found = document
		}
	}
}
