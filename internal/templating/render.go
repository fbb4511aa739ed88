// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"text/template"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// tplName is the name of texts given to tpl, for errors. It is unlikely to be the name of a define.
const tplName = "text given to tpl"

// Renderer renders the files of a Set. It is for one rendering, and must not be used concurrently. Its output counts
// against MaxOutput until it is dropped.
type Renderer struct {
	root   *template.Template
	limits *limits
}

// Render returns the output of a file. The templates may change the data. An error names file and line.
func (r *Renderer) Render(name string, data any) (string, error) {
	out, err := r.execute(r.root.Lookup(name), name, data)
	if err != nil {
		return "", located(err)
	}
	return out.complete(), nil
}

// execute renders a template; nil means that no template has that name.
func (r *Renderer) execute(found *template.Template, name string, data any) (*output, error) {
	if found == nil {
		return nil, fmt.Errorf("there is no template %q", name)
	}
	out := &output{name: name, limits: r.limits}
	if err := found.Execute(out, data); err != nil {
		out.release()
		return nil, err
	}
	return out, nil
}

func (r *Renderer) functions() template.FuncMap {
	return template.FuncMap{"include": r.include, "tpl": r.tpl}
}

// include renders a template by name.
func (r *Renderer) include(name string, data any) (string, error) {
	out, err := r.embed(r.root.Lookup(name), name, data)
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

// tpl renders a text. It may use all templates, and may define further ones for itself.
func (r *Renderer) tpl(text string, data any) (string, error) {
	clone, err := r.root.Clone()
	if err != nil {
		return "", err
	}
	// The functions in the text must see its definitions.
	inner := &Renderer{root: clone, limits: r.limits}
	// An empty text would not replace an outer text of the same name, so the template is not looked up by name.
	parsed, err := clone.Funcs(inner.functions()).New(tplName).Parse(text)
	if err != nil {
		return "", located(err)
	}
	out, err := inner.embed(parsed, tplName, data)
	if err != nil {
		return "", err
	}
	return out.complete(), nil
}

// embed renders a value for another template. Its text no longer counts as output afterwards.
func (r *Renderer) embed(found *template.Template, name string, data any) (*output, error) {
	if err := r.limits.enter(name); err != nil {
		return nil, err
	}
	defer r.limits.leave()
	out, err := r.execute(found, name, data)
	if err != nil {
		// The outermost call shows where the limit was exceeded; hundreds of nested calls would not help.
		var exceeded *limitError
		if errors.As(err, &exceeded) {
			return nil, exceeded
		}
		return nil, located(err)
	}
	out.release()
	return out, nil
}

// templateError is an error of text/template without the common prefix.
type templateError struct{ err error }

func located(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); !strings.HasPrefix(text, "template: ") {
		return err
	}
	return &templateError{err}
}

func (e *templateError) Error() string { return strings.TrimPrefix(e.err.Error(), "template: ") }

func (e *templateError) Unwrap() error { return e.err }

// File is a text with templates.
type File struct {
	// Name identifies the file within its Set, and in errors.
	Name string
	Text string
}

// Options configure how templates are parsed. The zero value stands for the defaults.
type Options struct {
	// LeftDelimiter defaults to "{{".
	LeftDelimiter string
	// RightDelimiter defaults to "}}".
	RightDelimiter string
	// Library has the functions that are available in addition to include and tpl. Defaults to the common ones.
	Library template.FuncMap
	// Functions are available in addition to the library, and win over it. Parsing needs only their names; a rendering
	// may bind other functions to these.
	Functions map[string]any
	// KeepNoValue makes nil render as "<no value>". It is removed from the complete output of a file or of tpl, but
	// templates see it in the result of include, like with Helm.
	KeepNoValue bool
}

// Set is a group of files that share their definitions. It is immutable and safe for concurrent use.
type Set struct {
	root        *template.Template
	keepNoValue bool
}

// Parse returns the Set of the given files. Of several definitions of the same name, the last one is used. An error
// contains file and line.
func Parse(files []File, options Options) (*Set, error) {
	library := options.Library
	if library == nil {
		library = commonFunctions
	}
	root := template.New("").Option("missingkey=zero").Delims(options.LeftDelimiter, options.RightDelimiter)
	root.Funcs(library).Funcs((&Renderer{}).functions()).Funcs(options.Functions)
	for _, file := range files {
		if _, err := root.New(file.Name).Parse(file.Text); err != nil {
			return nil, located(err)
		}
	}
	return &Set{root: root, keepNoValue: options.KeepNoValue}, nil
}

// Renderer returns a Renderer with the functions of the options and the given ones, which win.
func (s *Set) Renderer(functions map[string]any) (*Renderer, error) {
	clone, err := s.root.Clone()
	if err != nil {
		return nil, fmt.Errorf("copying templates: %w", err)
	}
	renderer := &Renderer{root: clone, limits: &limits{keepNoValue: s.keepNoValue}}
	clone.Funcs(renderer.functions()).Funcs(maps.Clone(functions))
	return renderer, nil
}

// Lookup provides functions that read from a cluster. It may contain the context, because it lives no longer than one
// rendering.
type Lookup struct {
	ctx       context.Context
	getClient func() (client.Client, error)
}

// NewLookup returns a Lookup whose functions read with the given context, through the client that getClient returns.
// Each function calls getClient, because that records that the cluster is read.
func NewLookup(ctx context.Context, getClient func() (client.Client, error)) Lookup {
	return Lookup{ctx: ctx, getClient: getClient}
}

// One returns an object. If the name is empty, it returns the list of all objects in the namespace; if that is empty,
// too, in all namespaces. If the object or its type does not exist, it returns an empty map.
func (l Lookup) One(apiVersion, kind, namespace, name string) (map[string]any, error) {
	content, err := l.MustOne(apiVersion, kind, namespace, name)
	if absent(err) {
		return map[string]any{}, nil
	}
	return content, err
}

// MustOne is One, except that a missing object or type is an error.
func (l Lookup) MustOne(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if name == "" {
		list, err := l.read(apiVersion, kind, namespace)
		if err != nil {
			return nil, wrap(err, apiVersion, kind, namespace, name)
		}
		return list.UnstructuredContent(), nil
	}
	clnt, mapping, err := l.find(apiVersion, kind)
	if err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, name)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	} else if namespace == "" {
		return nil, wrap(apierrors.NewNotFound(mapping.Resource.GroupResource(), name), apiVersion, kind, namespace, name)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := clnt.Get(l.ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, name)
	}
	return object.Object, nil
}

// List returns the objects in a namespace that match a label selector in kubectl's notation. An empty namespace means
// all namespaces, an empty selector all objects. For an unknown type, the list is empty.
func (l Lookup) List(apiVersion, kind, namespace, labelSelector string) ([]any, error) {
	selector, err := labels.Parse(labelSelector)
	if err != nil {
		return nil, fmt.Errorf("label selector %q: %w", labelSelector, err)
	}
	list, err := l.read(apiVersion, kind, namespace, client.MatchingLabelsSelector{Selector: selector})
	if absent(err) {
		return []any{}, nil
	}
	if err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, "")
	}
	items := make([]any, 0, len(list.Items))
	for _, item := range list.Items {
		items = append(items, item.Object)
	}
	return items, nil
}

func (l Lookup) find(apiVersion, kind string) (client.Client, *meta.RESTMapping, error) {
	if apiVersion == "" || kind == "" {
		return nil, nil, errors.New("an API version and a kind are needed")
	}
	clnt, err := l.getClient()
	if err != nil {
		return nil, nil, err
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	mapping, err := clnt.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	return clnt, mapping, err
}

func (l Lookup) read(apiVersion, kind, namespace string, options ...client.ListOption) (*unstructured.UnstructuredList, error) {
	clnt, mapping, err := l.find(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		options = append(options, client.InNamespace(namespace))
	}
	list := &unstructured.UnstructuredList{}
	gvk := mapping.GroupVersionKind
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list, clnt.List(l.ctx, list, options...)
}

// absent reports whether an error means that an object or its type does not exist.
func absent(err error) bool {
	return apierrors.IsNotFound(err) || cluster.IsNoMatch(err)
}

func wrap(err error, apiVersion, kind, namespace, name string) error {
	what := strings.Trim(namespace+"/"+name, "/")
	if what != "" {
		what = " " + what
	}
	return fmt.Errorf("looking up %s %s%s: %w", apiVersion, kind, what, err)
}

// acyclic replaces the sprig functions that could make a map a part of itself. Printing or copying such a map would
// overflow the stack, which ends the process.
func acyclic(sprig map[string]any) map[string]any {
	safe := map[string]any{"set": checked(sprig["set"], func(arguments []reflect.Value) error {
		if isCyclic(arguments[2].Interface(), map[uintptr]bool{arguments[0].Pointer(): true}) {
			return fmt.Errorf("setting %q: a map cannot be a part of itself", arguments[1])
		}
		return nil
	})}
	for _, name := range []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		merge := reflect.ValueOf(sprig[name])
		safe[name] = func(target map[string]any, sources ...map[string]any) (any, error) {
			results := merge.CallSlice([]reflect.Value{reflect.ValueOf(target), reflect.ValueOf(sources)})
			if err, failed := results[len(results)-1].Interface().(error); failed {
				return nil, err
			}
			if isCyclic(target, map[uintptr]bool{}) {
				// The rendering ends here, so the changed map is not used.
				return nil, errors.New("merging maps: a map cannot be a part of itself")
			}
			return results[0].Interface(), nil
		}
	}
	return safe
}

// isCyclic reports whether a value contains itself or one of the outer maps.
func isCyclic(value any, outer map[uintptr]bool) bool {
	switch value := value.(type) {
	case map[string]any:
		pointer := reflect.ValueOf(value).Pointer()
		if outer[pointer] {
			return true
		}
		outer[pointer] = true
		defer delete(outer, pointer)
		for _, member := range value {
			if isCyclic(member, outer) {
				return true
			}
		}
	case []any:
		for _, member := range value {
			if isCyclic(member, outer) {
				return true
			}
		}
	}
	return false
}
