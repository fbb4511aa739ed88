// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
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
	_ ParameterTransformer = &TemplateParameterTransformer{}
	_ Pure                 = &TemplateParameterTransformer{}
)

// NewTemplateParameterTransformer returns a transformer for the template in the file at the given path. It reads the
// file once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of the path is ignored.
//
// The template's data are the parameters, and the namespace and name of the dependents as .Namespace and .Name, which
// win over parameters of these names. The functions are sprig's (without env, expandenv and getHostByName), those for
// YAML, JSON, bits and addresses that kustomizations have, and include and tpl. None of them reads a cluster.
func NewTemplateParameterTransformer(fsys fs.FS, path string) (*TemplateParameterTransformer, error) {
	raw, err := readTemplate(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("reading parameter template: %w", err)
	}
	set, err := templating.Parse([]templating.File{{Name: path, Text: string(raw)}}, templating.Options{})
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

// TransformParameters renders the template. An error names the file and, if the template fails, the line.
func (t *TemplateParameterTransformer) TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error) {
	var given map[string]any
	if parameters != nil {
		given = parameters.ToUnstructured()
	}
	data, err := manifest.Normalize(given)
	if err != nil {
		return nil, err
	}
	data["Namespace"], data["Name"] = namespace, name
	renderer, err := t.set.Renderer(nil)
	if err != nil {
		return nil, err
	}
	text, err := renderer.Render(t.path, data)
	if err != nil {
		return nil, fmt.Errorf("rendering parameter template: %w", err)
	}
	if err := manifest.CheckSingle([]byte(text)); err != nil {
		return nil, fmt.Errorf("reading the output of parameter template %s: %w", t.path, err)
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading the output of parameter template %s: %w", t.path, err)
	}
	var transformed map[string]any
	if err := utiljson.Unmarshal(raw, &transformed); err != nil {
		return nil, fmt.Errorf("reading the output of parameter template %s: it is not a map: %w", t.path, err)
	}
	return types.UnstructurableMap(transformed), nil
}

// Fingerprint identifies the template.
func (t *TemplateParameterTransformer) Fingerprint() string {
	return t.fingerprint
}
