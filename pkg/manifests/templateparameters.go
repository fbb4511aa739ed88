// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/types"
)

// TemplateParameterTransformer renders a template, and uses its YAML output as the parameters. It is safe for
// concurrent use.
type TemplateParameterTransformer struct {
	path        string
	set         *templating.Set
	fingerprint string
}

var (
	_ ContextParameterTransformer = &TemplateParameterTransformer{}
	_ Pure                        = &TemplateParameterTransformer{}
)

// NewTemplateParameterTransformer returns a transformer for the template in the file at the given path. It reads the
// file once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of the path is ignored.
//
// The template's data are the parameters, and the namespace and name of the dependents as .Namespace and .Name, which
// override parameters of these names. The functions are sprig's (without env, expandenv and getHostByName), those of
// kustomizations for YAML, JSON, bits, addresses and generated secrets, and include and tpl. None of them reads a cluster.
func NewTemplateParameterTransformer(fsys fs.FS, path string) (*TemplateParameterTransformer, error) {
	raw, err := readTemplate(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("reading parameter template: %w", err)
	}
	set, err := templating.Parse([]templating.File{{Name: path, Text: string(raw)}}, templating.Options{Functions: templating.SecretFunctions(context.Background())})
	if err != nil {
		return nil, fmt.Errorf("parsing parameter template: %w", err)
	}
	hash := sha256.Sum256(raw)
	return &TemplateParameterTransformer{path: path, set: set, fingerprint: "template " + hex.EncodeToString(hash[:])}, nil
}

func readTemplate(fsys fs.FS, name string) ([]byte, error) {
	if fsys == nil {
		return os.ReadFile(name)
	}
	return fs.ReadFile(fsys, path.Clean(strings.TrimLeft(name, "/")))
}

// TransformParameters is TransformParametersContext without a context, so without generated secrets.
func (t *TemplateParameterTransformer) TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error) {
	return t.TransformParametersContext(context.Background(), namespace, name, parameters)
}

// TransformParametersContext renders the template. An error names the file and, if the template fails, the line.
func (t *TemplateParameterTransformer) TransformParametersContext(
	ctx context.Context, namespace string, name string, parameters types.Unstructurable,
) (types.Unstructurable, error) {
	data, err := manifest.Normalize(manifest.ValuesOf(parameters))
	if err != nil {
		return nil, err
	}
	data["Namespace"], data["Name"] = namespace, name
	renderer, err := t.set.Renderer(templating.SecretFunctions(ctx))
	if err != nil {
		return nil, err
	}
	text, err := renderer.Render(t.path, data)
	if err != nil {
		return nil, fmt.Errorf("rendering parameter template: %w", err)
	}
	content, err := manifest.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading the output of parameter template %s: %w", t.path, err)
	}
	transformed, isMap := content.(map[string]any)
	if !isMap && content != nil {
		return nil, fmt.Errorf("reading the output of parameter template %s: it is not a map, but %s", t.path, manifest.Describe(content))
	}
	return types.UnstructurableMap(transformed), nil
}

// Fingerprint identifies the template.
func (t *TemplateParameterTransformer) Fingerprint() string {
	return t.fingerprint
}

// SubstitutionObjectTransformer replaces references to variables in objects, as a shell does: ${name}, ${name:-default}
// and the other forms of package github.com/fluxcd/pkg/envsubst. A variable that does not exist counts as empty;
// $${name} stands for the text ${name}; a $ without brace stays.
//
// The replacement works on the YAML text of the object, so a value may be a number, a boolean or a piece of YAML:
// "replicas: ${n}" becomes a number. A value that must stay a string although it looks like a number needs its own
// quotes.
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

// TransformObjects is TransformObjectsContext for objects that have apiVersion and kind, or a type of client-go.
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
		fingerprint := fingerprintOf(t.selector)
		if fingerprint == "" {
			return ""
		}
		selection = fmt.Sprintf("%T %q", t.selector, fingerprint)
	}
	return fingerprintWith("substitution/1", map[string]any{"substitutions": t.substitutions, "selector": selection})
}

// substitute returns the changed object; nil if there is nothing to replace.
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

// singleDocument returns the only document with content, or nothing. Decoders would silently use the first one.
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
