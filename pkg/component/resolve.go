// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/references"
	"github.com/component-operator/runtime/pkg/component/internal/specs"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// missingReferenceDelay is the time after which a missing reference is looked for even if nothing was heard of it.
const missingReferenceDelay = 10 * time.Second

// resolveReferences loads all references of the spec, and computes the digest of what is declared. While the component is
// being deleted, only what leads to the target is required; other references are loaded as far as they exist, and only if
// somebody might look at them.
func (w *worker) resolveReferences(ctx context.Context, s *scope) outcome {
	spec := specOf(s.component)
	var keys []references.Key
	var problems []string
	err := w.walker.Walk(spec, func(found specs.Occurrence) error {
		reference, ok := found.Value.(objectReference)
		if !ok || !w.isWanted(s, found) {
			return nil
		}
		kind, name := reference.target()
		switch {
		case name == "":
			problems = append(problems, found.Path+".name: a name is required")
		case s.key.Namespace == "":
			problems = append(problems, found.Path+": a component without namespace cannot refer to a "+string(kind))
		default:
			keys = append(keys, references.Key{Kind: kind, Namespace: s.key.Namespace, Name: name})
		}
		return nil
	})
	if err == nil && len(problems) > 0 {
		err = &reconciler.RefusedError{Problems: problems}
	}
	if err != nil {
		return outcomeOf(err)
	}
	w.references.Use(s.key, keys)
	loaded := loading{worker: w, scope: s, digests: map[string]string{}, uids: secretUIDs{}}
	if err := w.walker.Walk(spec, func(found specs.Occurrence) error { return loaded.load(ctx, found) }); err != nil {
		return outcomeOf(err)
	}
	return loaded.finish(spec)
}

// isWanted reports whether a reference is to be loaded.
func (w *worker) isWanted(s *scope, found specs.Occurrence) bool {
	if !s.deleting || found.Target || hasForeignTarget(s.component) {
		return true
	}
	return len(w.hooks.postRead)+len(w.hooks.preDelete)+len(w.hooks.postDelete) > 0
}

// hasForeignTarget reports whether the component has an implementation of ClientConfiguration of its own, of which it is
// not known which references it needs.
func hasForeignTarget(component Component) bool {
	if _, ok := component.(ClientConfiguration); ok {
		return true
	}
	if _, ok := capability[ClientConfiguration](component); !ok {
		return false
	}
	spec := reflect.Indirect(reflect.ValueOf(specOf(component)))
	if spec.Kind() != reflect.Struct {
		return true
	}
	field, ok := spec.Type().FieldByName("ClientSpec")
	return !ok || field.Type != reflect.TypeFor[ClientSpec]()
}

// loading loads the references of one component.
type loading struct {
	worker  *worker
	scope   *scope
	digests map[string]string
	uids    secretUIDs
	// missing are references that are not there (yet); lost is the first one that leads to the target.
	missing []string
	lost    string
}

func (l *loading) load(ctx context.Context, found specs.Occurrence) error {
	if !l.worker.isWanted(l.scope, found) {
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
	case l.scope.deleting && !found.Target && !hasForeignTarget(l.scope.component):
		// Hooks find it empty.
		return nil
	case l.scope.deleting && found.IgnoredOnDeletion() && isMissing(err):
		return nil
	case isMissing(err), l.scope.deleting && errors.As(err, &retriable):
		l.missing = append(l.missing, problem)
		if found.Target && l.lost == "" {
			l.lost = problem
		}
		return nil
	default:
		return fmt.Errorf("loading %s: %w", found.Path, err)
	}
}

// errNoKubeConfig is about a key that exists. Without a kubeconfig, dependents would be applied to, or looked for in, the
// cluster of the component.
var errNoKubeConfig = errors.New("holds an empty kubeconfig")

func isMissing(err error) bool {
	var missingKey *missingKeyError
	return apierrors.IsNotFound(err) || errors.As(err, &missingKey) || errors.Is(err, errNoKubeConfig)
}

// content loads one reference and returns the digest of its content.
func (l *loading) content(ctx context.Context, found specs.Occurrence) (string, error) {
	reference, ok := found.Value.(objectReference)
	if !ok {
		return l.worker.extension(ctx, found.Value, l.scope.component)
	}
	kind, name := reference.target()
	key := references.Key{Kind: kind, Namespace: l.scope.key.Namespace, Name: name}
	if found.Target {
		l.scope.kubeConfigFrom = key.String()
	}
	content, err := l.worker.references.Read(ctx, l.scope.key, key)
	if err != nil {
		return "", err
	}
	if kind == references.Secret {
		l.uids[found.Path] = content.UID
	}
	value, err := reference.load(content, found.FallbackKeys())
	if secret, ok := reference.(*SecretKeyReference); ok && found.Target && err == nil && len(secret.value) == 0 {
		err = errNoKubeConfig
	}
	if err != nil {
		return "", fmt.Errorf("%s %w", key, err)
	}
	return digest.Of(value)
}

func (l *loading) finish(spec any) outcome {
	s := l.scope
	if s.deleting {
		s.missing = l.missing
		if l.lost != "" {
			s.lost = errors.New(l.lost)
		}
		return proceed
	}
	if len(l.missing) > 0 {
		delay := missingReferenceDelay
		slices.Sort(l.missing)
		return outcome{kind: outcomeRetriable, message: "waiting for references: " + texts.Join(l.missing, "; "), retryAfter: &delay}
	}
	declared, err := digest.Of(declaration{
		Generation:  s.component.GetGeneration(),
		Annotations: l.worker.ownAnnotations(s.component),
		Spec:        spec,
		References:  l.digests,
		Generator:   fingerprintOf(l.worker.generator),
	})
	if err != nil {
		return outcomeOf(err)
	}
	s.takeDigest(declared, l.uids)
	return proceed
}

// declaration is all that makes a new revision when it changes.
type declaration struct {
	Generation  int64             `json:"generation"`
	Annotations map[string]string `json:"annotations"`
	Spec        any               `json:"spec"`
	References  map[string]string `json:"references"`
	Generator   string            `json:"generator"`
}

// withoutRevision are annotations that say nothing about dependents that are wanted.
var withoutRevision = []string{
	types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum,
}

// ownAnnotations returns the annotations that address this reconciler, except those that do not concern dependents.
// Those of others come and go without meaning.
func (w *worker) ownAnnotations(component Component) map[string]string {
	own := map[string]string{}
	for key, value := range component.GetAnnotations() {
		suffix, ok := strings.CutPrefix(key, w.name+"/")
		if ok && !slices.Contains(withoutRevision, suffix) {
			own[key] = value
		}
	}
	return own
}

// fingerprintOf is empty for generators that are not pure.
func fingerprintOf(generator manifests.Generator) string {
	if pure, ok := generator.(manifests.Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}
