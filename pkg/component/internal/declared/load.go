// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Reference is a reference to an object in the namespace of the component.
type Reference interface {
	// Target returns kind and name.
	Target() (observe.ReferenceKind, string)
	// Load sets the content, and returns the input of its digest.
	Load(content *observe.ReferencedContent, found Occurrence) (any, error)
}

// Source reads referenced objects. A references.Watcher is one, which also notices changes.
type Source interface {
	// Use says which objects an owner refers to.
	Use(owner apitypes.NamespacedName, keys []observe.ReferenceKey)
	// Read returns the content of an object to an owner that uses it. If the object does not exist, the error is that
	// of the API server.
	Read(ctx context.Context, owner apitypes.NamespacedName, key observe.ReferenceKey) (*observe.ReferencedContent, error)
}

// Loader loads references. Its fields do not change once it is in use.
type Loader struct {
	// Walker finds references in specs.
	Walker *Walker
	// Source reads the referenced objects.
	Source Source
	// Reference returns the reference that the walker has found; nil if it is an extension.
	Reference func(value any) Reference
}

// Component has what a Loader needs of a component.
type Component struct {
	Key  apitypes.NamespacedName
	Spec any
	// Generation, Annotations and Generator are part of the declaration: the annotations that affect dependents, and
	// the fingerprint of the generator.
	Generation  int64
	Annotations map[string]string
	Generator   string
	// Deleting is set if the component is being deleted.
	Deleting bool
	// NeedsReferences is set if code of the operator may use references other than the kubeconfig while the component
	// is being deleted.
	NeedsReferences bool
	// TargetUnknown is set if it is not known which references determine the target.
	TargetUnknown bool
	// Extension loads a reference of another package, and returns its digest.
	Extension func(ctx context.Context, value any) (string, error)
}

// Declaration is what a component declares.
type Declaration struct {
	// Digest identifies it; empty while the component is being deleted.
	Digest Digest
	// Missing has the references without object, sorted. Unless the component is being deleted, a pass waits for them.
	Missing []string
	// Lost is the first missing reference that determines the target; empty if there is none.
	Lost string
	// KubeConfigFrom is the object with the kubeconfig; empty if there is none, or if it is not known.
	KubeConfigFrom string
}

// Load loads all references of a component, and computes the digest of its declaration.
func (l *Loader) Load(ctx context.Context, component Component) (Declaration, error) {
	if err := l.watch(component); err != nil {
		return Declaration{}, err
	}
	loading := &loading{loader: l, component: component, digests: map[string]string{}, uids: secretUIDs{}}
	if err := l.Walker.Walk(component.Spec, func(found Occurrence) error { return loading.load(ctx, found) }); err != nil {
		return Declaration{}, err
	}
	return loading.finish()
}

// watch watches exactly the objects that the component refers to.
func (l *Loader) watch(component Component) error {
	var keys []observe.ReferenceKey
	var problems []string
	err := l.Walker.Walk(component.Spec, func(found Occurrence) error {
		reference := l.Reference(found.Value)
		if reference == nil || !component.wants(found) {
			return nil
		}
		kind, name := reference.Target()
		switch {
		case name == "":
			problems = append(problems, found.Path+".name: a name is required")
		case component.Key.Namespace == "":
			problems = append(problems, found.Path+": a component without a namespace cannot refer to a "+string(kind)+"; leave the field empty, or make the kind namespaced")
		default:
			keys = append(keys, observe.ReferenceKey{Kind: kind, Namespace: component.Key.Namespace, Name: name})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return &reconciler.RefusedError{Problems: problems}
	}
	l.Source.Use(component.Key, keys)
	return nil
}

// wants reports whether a reference must be loaded.
func (c Component) wants(found Occurrence) bool {
	return !c.Deleting || found.Target || c.TargetUnknown || c.NeedsReferences
}

// loading loads the references of one component.
type loading struct {
	loader    *Loader
	component Component
	digests   map[string]string
	uids      secretUIDs
	// missing has the references without object; lost is the first one that determines the target.
	missing        []string
	lost           string
	kubeConfigFrom string
}

func (l *loading) load(ctx context.Context, found Occurrence) error {
	if !l.component.wants(found) {
		return nil
	}
	content, err := l.content(ctx, found)
	if err == nil {
		l.digests[found.Path] = content
		return nil
	}
	problem := found.Path + ": " + err.Error()
	var retriable types.RetriableError
	switch {
	case l.component.Deleting && !found.Target && !l.component.TargetUnknown:
		// Hooks see it empty.
		return nil
	case l.component.Deleting && found.IgnoredOnDeletion() && isMissing(err):
		return nil
	case isMissing(err), l.component.Deleting && errors.As(err, &retriable):
		l.missing = append(l.missing, problem)
		if found.Target && l.lost == "" {
			l.lost = problem
		}
		return nil
	default:
		return fmt.Errorf("loading %s: %w", found.Path, err)
	}
}

// content loads one reference and returns the digest of its content.
func (l *loading) content(ctx context.Context, found Occurrence) (string, error) {
	reference := l.loader.Reference(found.Value)
	if reference == nil {
		return l.component.Extension(ctx, found.Value)
	}
	kind, name := reference.Target()
	key := observe.ReferenceKey{Kind: kind, Namespace: l.component.Key.Namespace, Name: name}
	if found.Target {
		l.kubeConfigFrom = key.String()
	}
	content, err := l.loader.Source.Read(ctx, l.component.Key, key)
	if err != nil {
		return "", err
	}
	if kind == observe.ReferencedSecret {
		l.uids[found.Path] = content.UID
	}
	value, err := reference.Load(content, found)
	if err != nil {
		return "", fmt.Errorf("%s %w", key, err)
	}
	return manifest.Digest(value)
}

func (l *loading) finish() (Declaration, error) {
	slices.Sort(l.missing)
	declaration := Declaration{Missing: l.missing, Lost: l.lost, KubeConfigFrom: l.kubeConfigFrom}
	if l.component.Deleting || len(l.missing) > 0 {
		return declaration, nil
	}
	plain, err := manifest.Digest(content{
		Generation:  l.component.Generation,
		Annotations: l.component.Annotations,
		Spec:        l.component.Spec,
		References:  l.digests,
		Generator:   l.component.Generator,
	})
	if err != nil {
		return Declaration{}, err
	}
	declaration.Digest = newDigest(plain, l.uids)
	return declaration, nil
}

// content is the input of the digest: every change causes a new revision.
type content struct {
	Generation  int64             `json:"generation"`
	Annotations map[string]string `json:"annotations"`
	Spec        any               `json:"spec"`
	References  map[string]string `json:"references"`
	Generator   string            `json:"generator"`
}

// ErrNoKubeConfig says that the key exists and is empty. Without a kubeconfig, dependents would be applied to the
// cluster of the component.
var ErrNoKubeConfig = errors.New("holds an empty kubeconfig")

func isMissing(err error) bool {
	var missingKey *missingKeyError
	return apierrors.IsNotFound(err) || errors.As(err, &missingKey) || errors.Is(err, ErrNoKubeConfig)
}

// missingKeyError says that an object lacks the wanted key.
type missingKeyError struct {
	wanted  []string
	present []string
}

func (e *missingKeyError) Error() string {
	switch {
	case len(e.wanted) == 0:
		return "no key is set, and there is no default"
	case len(e.present) == 0:
		return fmt.Sprintf("has no key %s: it is empty", strings.Join(e.wanted, " or "))
	default:
		return fmt.Sprintf("has no key %s; its keys are: %s", strings.Join(e.wanted, " or "), outcomes.Join(e.present, ", "))
	}
}

// Pick returns the value of a key, or, without a key, that of the first existing fallback key.
func Pick(content *observe.ReferencedContent, key string, fallbackKeys []string) ([]byte, error) {
	wanted := fallbackKeys
	if key != "" {
		wanted = []string{key}
	}
	for _, candidate := range wanted {
		if value, ok := content.Data[candidate]; ok {
			return value, nil
		}
	}
	return nil, &missingKeyError{wanted: wanted, present: slices.Sorted(maps.Keys(content.Data))}
}
