// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

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

// referenceSource reads referenced objects. An observe.ReferenceWatcher is one, which also notices changes.
type referenceSource interface {
	// Use says which objects an owner refers to.
	Use(owner apitypes.NamespacedName, keys []observe.ReferenceKey)
	// Read returns the content of an object to an owner that uses it. If the object does not exist, the error is that
	// of the API server.
	Read(ctx context.Context, owner apitypes.NamespacedName, key observe.ReferenceKey) (*observe.ReferencedContent, error)
}

// declaration is what a component declares.
type declaration struct {
	// Digest identifies it; empty while the component is being deleted.
	Digest digest
	// Missing has the references without object, sorted. Unless the component is being deleted, a pass waits for them.
	Missing []string
	// Lost is the first missing reference that determines the target; empty if there is none.
	Lost string
	// KubeConfigFrom is the object with the kubeconfig; empty if there is none, or if it is not known.
	KubeConfigFrom string
}

// loading loads the references of one component. While the component is being deleted, only the kubeconfig is
// required; other references are loaded if they exist, and only if code of the operator may use them.
type loading struct {
	walker walker
	source referenceSource
	key    apitypes.NamespacedName
	spec   any
	// deleting is set if the component is being deleted.
	deleting bool
	// needed is set if code of the operator may use references other than the kubeconfig while the component is being
	// deleted.
	needed bool
	// targetUnknown is set if it is not known which references determine the target.
	targetUnknown bool
	// extension loads a reference of another package, and returns its digest.
	extension func(ctx context.Context, value any) (string, error)

	// digests are those of the contents, by the paths of the references, and uids those of the Secrets.
	digests map[string]string
	uids    secretUIDs
	found   declaration
}

// load loads all references. The result has no digest.
func (l *loading) load(ctx context.Context) (declaration, error) {
	l.digests, l.uids = map[string]string{}, secretUIDs{}
	if err := l.watch(); err != nil {
		return declaration{}, err
	}
	err := l.walker.walk(l.spec, func(found occurrence) error { return l.loadOne(ctx, found) })
	slices.Sort(l.found.Missing)
	return l.found, err
}

// watch watches exactly the objects that the component refers to.
func (l *loading) watch() error {
	var keys []observe.ReferenceKey
	var problems []string
	err := l.walker.walk(l.spec, func(found occurrence) error {
		reference, ok := found.Value.(objectReference)
		if !ok || !l.wants(found) {
			return nil
		}
		kind, name := reference.target()
		switch {
		case name == "":
			problems = append(problems, found.Path+".name: a name is required")
		case l.key.Namespace == "":
			problems = append(problems, found.Path+": a component without a namespace cannot refer to a "+string(kind)+"; leave the field empty, or make the kind namespaced")
		default:
			keys = append(keys, observe.ReferenceKey{Kind: kind, Namespace: l.key.Namespace, Name: name})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return &reconciler.RefusedError{Problems: problems}
	}
	l.source.Use(l.key, keys)
	return nil
}

// wants reports whether a reference must be loaded.
func (l *loading) wants(found occurrence) bool {
	return !l.deleting || found.Target || l.targetUnknown || l.needed
}

func (l *loading) loadOne(ctx context.Context, found occurrence) error {
	if !l.wants(found) {
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
	case l.deleting && !found.Target && !l.targetUnknown:
		// Hooks see it empty.
		return nil
	case l.deleting && found.IgnoredOnDeletion() && isMissing(err):
		return nil
	case isMissing(err), l.deleting && errors.As(err, &retriable):
		l.found.Missing = append(l.found.Missing, problem)
		if found.Target && l.found.Lost == "" {
			l.found.Lost = problem
		}
		return nil
	default:
		return fmt.Errorf("loading %s: %w", found.Path, err)
	}
}

// content loads one reference and returns the digest of its content.
func (l *loading) content(ctx context.Context, found occurrence) (string, error) {
	reference, ok := found.Value.(objectReference)
	if !ok {
		return l.extension(ctx, found.Value)
	}
	kind, name := reference.target()
	key := observe.ReferenceKey{Kind: kind, Namespace: l.key.Namespace, Name: name}
	if found.Target {
		l.found.KubeConfigFrom = key.String()
	}
	content, err := l.source.Read(ctx, l.key, key)
	if err != nil {
		return "", err
	}
	if kind == observe.ReferencedSecret {
		l.uids[found.Path] = content.UID
	}
	value, err := reference.load(content, found.FallbackKeys())
	if secret, ok := reference.(*SecretKeyReference); ok && found.Target && err == nil && len(secret.value) == 0 {
		err = errNoKubeConfig
	}
	if err != nil {
		return "", fmt.Errorf("%s %w", key, err)
	}
	return manifest.Digest(value)
}

// errNoKubeConfig says that the key exists and is empty. Without a kubeconfig, dependents would be applied to the
// cluster of the component.
var errNoKubeConfig = errors.New("holds an empty kubeconfig")

func isMissing(err error) bool {
	var missingKey *missingKeyError
	return apierrors.IsNotFound(err) || errors.As(err, &missingKey) || errors.Is(err, errNoKubeConfig)
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

// pick returns the value of a key, or, without a key, that of the first existing fallback key.
func pick(content *observe.ReferencedContent, key string, fallbackKeys []string) ([]byte, error) {
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
