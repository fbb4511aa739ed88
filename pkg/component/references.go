// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/dependencies"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Reference may be implemented by any type, or a pointer to it, in the spec of a component of type T. The reconciler
// loads it before the spec is used.
type Reference[T Component] interface {
	// Load reads the referenced object, at most once per reconciliation. The client is that of the manager. A missing
	// object should be a types.RetriableError.
	Load(ctx context.Context, clnt client.Client, component T) error
	// Digest identifies the loaded content, and is called after Load. A new digest starts a new revision.
	Digest() string
}

// The references below denote objects in the namespace of the component. The reconciler loads them before hooks and
// generator run, and watches the objects. Before that, they are empty. Their content must not be changed.
//
// Two tags of the struct field with a reference (directly, or in a pointer, slice or map) control how it is loaded:
// fallbackKeys:"a,b" lists the keys to try if the reference names none, and notFoundPolicy:"ignoreOnDeletion" leaves
// the content empty if object or key are missing while the component is being deleted. A third one,
// loadedAs:"password", says how ToUnstructured passes the content to generators.

// +kubebuilder:object:generate=true

// ConfigMapReference is a reference to all data of a ConfigMap.
type ConfigMapReference struct {
	// Name of the ConfigMap, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	data map[string]string `json:"-"`
}

// Data returns the loaded data.
func (r *ConfigMapReference) Data() map[string]string { return r.data }

// +kubebuilder:object:generate=true

// ConfigMapKeyReference is a reference to one key of a ConfigMap.
type ConfigMapKeyReference struct {
	// Name of the ConfigMap, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the ConfigMap; the default depends on where the reference is used.
	// +optional
	Key string `json:"key,omitempty"`

	value string `json:"-"`
}

// Value returns the loaded value.
func (r *ConfigMapKeyReference) Value() string { return r.value }

// +kubebuilder:object:generate=true

// SecretReference is a reference to all data of a Secret.
type SecretReference struct {
	// Name of the Secret, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	data map[string][]byte `json:"-"`
}

// Data returns the loaded data.
func (r *SecretReference) Data() map[string][]byte { return r.data }

// +kubebuilder:object:generate=true

// SecretKeyReference is a reference to one key of a Secret.
type SecretKeyReference struct {
	// Name of the Secret, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the Secret; the default depends on where the reference is used.
	// +optional
	Key string `json:"key,omitempty"`

	value []byte `json:"-"`
}

// Value returns the loaded value.
func (r *SecretKeyReference) Value() []byte { return r.value }

// objectReference is one of the references of this package.
type objectReference interface {
	// content returns the loaded content: a string, or a map of strings; for a ValueReference anything.
	content() any
}

// dataReference is a reference to the data of a ConfigMap or Secret.
type dataReference interface {
	objectReference
	// target returns kind and name.
	target() (observe.ReferenceKind, string)
	// load sets the content, and returns the input of its digest.
	load(content *observe.ReferencedContent, fallbackKeys []string) (any, error)
}

var _ = []dataReference{&ConfigMapReference{}, &ConfigMapKeyReference{}, &SecretReference{}, &SecretKeyReference{}}

var objectReferences = []objectReference{&ConfigMapReference{}, &ConfigMapKeyReference{}, &SecretReference{}, &SecretKeyReference{}, &ValueReference{}}

// isObjectReference reports whether a type is that of a reference of this package. A struct that embeds one has its
// methods, but may hold further references.
func isObjectReference(t reflect.Type) bool {
	return slices.ContainsFunc(objectReferences, func(reference objectReference) bool { return reflect.TypeOf(reference).Elem() == t })
}

func (r *ConfigMapReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedConfigMap, r.Name
}

func (r *ConfigMapKeyReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedConfigMap, r.Name
}

func (r *SecretReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedSecret, r.Name
}

func (r *SecretKeyReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedSecret, r.Name
}

func (r *ConfigMapReference) content() any    { return values(r.data) }
func (r *ConfigMapKeyReference) content() any { return r.value }
func (r *SecretReference) content() any       { return values(r.data) }
func (r *SecretKeyReference) content() any    { return string(r.value) }

// values returns data as generators expect them.
func values[V string | []byte](data map[string]V) map[string]any {
	result := make(map[string]any, len(data))
	for key, value := range data {
		result[key] = string(value)
	}
	return result
}

// copied returns a copy of data that others use, too.
func copied[V string | []byte](data map[string][]byte) map[string]V {
	result := make(map[string]V, len(data))
	for key, value := range data {
		result[key] = V(string(value))
	}
	return result
}

func (r *ConfigMapReference) load(content *observe.ReferencedContent, _ []string) (any, error) {
	r.data = copied[string](content.Data)
	return r.data, nil
}

func (r *ConfigMapKeyReference) load(content *observe.ReferencedContent, fallbackKeys []string) (value any, err error) {
	r.value, err = pick[string](content, r.Key, fallbackKeys)
	return r.value, err
}

func (r *SecretReference) load(content *observe.ReferencedContent, _ []string) (any, error) {
	r.data = copied[[]byte](content.Data)
	return r.data, nil
}

func (r *SecretKeyReference) load(content *observe.ReferencedContent, fallbackKeys []string) (value any, err error) {
	r.value, err = pick[[]byte](content, r.Key, fallbackKeys)
	return r.value, err
}

// LoadReferences loads the references of a spec, a pointer to a struct, as the reconciler does: from the given
// namespace, which is that of the component. If objects or keys are missing, the error is a types.RetriableError that
// names them. Only the types of references of this package are loaded, no implementations of Reference. It is for
// programs that call generators themselves, such as tests.
func LoadReferences(ctx context.Context, reader client.Reader, namespace string, spec any) error {
	l := &loading{source: source{reader}, key: apitypes.NamespacedName{Namespace: namespace}, spec: spec}
	if clnt, ok := reader.(client.Client); ok {
		l.objects = dependencies.Unwatched(dependencies.Options{Client: clnt, AcrossNamespaces: true})
	}
	found, err := l.load(ctx)
	if err == nil && len(found.Missing) > 0 {
		err = types.NewRetriableError(errors.New(awaiting(found.Missing)), nil)
	}
	return err
}

// awaiting returns the message of a component that waits for references.
func awaiting(missing []string) string {
	return "waiting for references: " + outcomes.Join(missing, "; ")
}

// source reads references from a client.Reader.
type source struct{ client.Reader }

// Use does nothing: changes are not awaited.
func (source) Use(apitypes.NamespacedName, []observe.ReferenceKey) {}

// Read reads an object.
func (s source) Read(ctx context.Context, _ apitypes.NamespacedName, key observe.ReferenceKey) (*observe.ReferencedContent, error) {
	return observe.ReadReference(ctx, s.Reader, key)
}

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
	// Own is the recorded digest without the generator; empty without a rollout.
	Own string
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

	// objects reads the objects of ValueReferences; nil if it cannot. needs are the objects that are used besides.
	objects *dependencies.Objects
	needs   []observe.Name

	// digests are those of the contents, by the paths of the references, and uids those of the Secrets.
	digests map[string]string
	uids    secretUIDs
	found   declaration
}

// load loads all references. The result has no digest.
func (l *loading) load(ctx context.Context) (declaration, error) {
	l.digests, l.uids = map[string]string{}, secretUIDs{}
	if err := l.watch(ctx); err != nil {
		return declaration{}, err
	}
	err := l.walker.walk(l.spec, func(found occurrence) error { return l.loadOne(ctx, found) })
	slices.Sort(l.found.Missing)
	return l.found, err
}

// watch watches exactly the objects that the component refers to.
func (l *loading) watch(ctx context.Context) error {
	var keys []observe.ReferenceKey
	var problems []string
	names := slices.Clone(l.needs)
	err := l.walker.walk(l.spec, func(found occurrence) error {
		if !l.wants(found) {
			return nil
		}
		if reference, ok := found.Value.(*ValueReference); ok {
			name, err := l.resolve(reference)
			invalid, isInvalid := errors.AsType[dependencies.InvalidError](err)
			switch {
			case err == nil:
				names = append(names, name)
			case l.deleting:
				// Hooks see it empty.
			case isInvalid:
				problems = append(problems, found.Path+"."+invalid.Error())
			default:
				return err
			}
			return nil
		}
		reference, ok := found.Value.(dataReference)
		if !ok {
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
	if l.objects == nil {
		return nil
	}
	return l.objects.Use(ctx, l.key, names)
}

// resolve returns the object of a reference. The error says which field is wrong.
func (l *loading) resolve(reference *ValueReference) (observe.Name, error) {
	if l.objects == nil {
		return observe.Name{}, errors.New("a ValueReference needs a client.Client")
	}
	if _, err := judges.CompileValue(reference.Value); err != nil {
		return observe.Name{}, dependencies.Invalid("value: %v", err)
	}
	return l.objects.Resolve(l.key, reference.object())
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
	_, isRetriable := errors.AsType[types.RetriableError](err)
	switch {
	case l.deleting && (!found.Target && !l.targetUnknown || found.IgnoredOnDeletion() && isMissing(err)):
		// Hooks see it empty.
		return nil
	case isMissing(err), l.deleting && isRetriable:
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
	if reference, ok := found.Value.(*ValueReference); ok {
		return l.value(ctx, reference)
	}
	reference, ok := found.Value.(dataReference)
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

// value loads one ValueReference and returns the digest of its value.
func (l *loading) value(ctx context.Context, reference *ValueReference) (string, error) {
	name, err := l.resolve(reference)
	if err != nil {
		return "", err
	}
	object, _, err := l.objects.Read(ctx, name)
	if err != nil {
		return "", err
	}
	value, err := reference.load(name, object)
	if err != nil {
		return "", err
	}
	return manifest.Digest(value)
}

// errNoKubeConfig says that the key exists and is empty. Without a kubeconfig, dependents would be applied to the
// cluster of the component.
var errNoKubeConfig = incompleteError{errors.New("holds an empty kubeconfig")}

func isMissing(err error) bool {
	_, incomplete := errors.AsType[incompleteError](err)
	return incomplete || apierrors.IsNotFound(err)
}

// incompleteError says what an object lacks.
type incompleteError struct{ error }

// pick returns a copy of the value of a key, or, without a key, that of the first existing fallback key.
func pick[V string | []byte](content *observe.ReferencedContent, key string, fallbackKeys []string) (found V, err error) {
	wanted := fallbackKeys
	if key != "" {
		wanted = []string{key}
	}
	for _, candidate := range wanted {
		if value, ok := content.Data[candidate]; ok {
			return V(string(value)), nil
		}
	}
	problem := "has no key " + strings.Join(wanted, " or ")
	switch present := slices.Sorted(maps.Keys(content.Data)); {
	case len(wanted) == 0:
		problem = "needs a key, because there is no default"
	case len(present) == 0:
		problem += "; it has no keys"
	default:
		problem += "; its keys are: " + outcomes.Join(present, ", ")
	}
	return found, incompleteError{errors.New(problem)}
}

// occurrence is a reference in a spec.
type occurrence struct {
	// Path is the path in JSON, such as spec.users[0].passwordRef.
	Path string
	// Value is a pointer to the reference, or the implementation of the extension.
	Value any
	// tag is the tag of the nearest struct field on the way to the reference.
	tag reflect.StructTag
	// Target reports whether the reference determines the cluster of the dependents.
	Target bool
}

func (o occurrence) at(suffix string) occurrence {
	o.Path += suffix
	return o
}

// FallbackKeys returns the keys to try if the reference names none.
func (o occurrence) FallbackKeys() []string {
	var keys []string
	for key := range strings.SplitSeq(o.tag.Get("fallbackKeys"), ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// IgnoredOnDeletion reports whether the object may be missing while the component is being deleted.
func (o occurrence) IgnoredOnDeletion() bool {
	return o.tag.Get("notFoundPolicy") == "ignoreOnDeletion"
}

// walker finds references in specs. It is safe for concurrent use.
type walker struct {
	// extension is an interface whose implementations count as references, too; may be nil.
	extension reflect.Type
}

// walk calls visit for each reference in the value that spec points to. Map values are visited as copies and put back
// afterwards, in the order of their keys.
func (w walker) walk(spec any, visit func(occurrence) error) error {
	value := reflect.ValueOf(spec)
	if !value.IsValid() {
		return nil
	}
	return w.visit(value, occurrence{Path: "spec"}, visit)
}

func (w walker) visit(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	if leaf, byValue := w.isLeaf(value.Type()); leaf {
		return visitLeaf(byValue, value, at, visit)
	}
	// All other kinds are scalars, or hold nothing that JSON could fill.
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return w.visit(value.Elem(), at, visit)
		}
	case reflect.Interface:
		// A value in an interface can be changed only behind a pointer.
		if value.Elem().Kind() == reflect.Pointer {
			return w.visit(value.Elem(), at, visit)
		}
	case reflect.Struct:
		return w.visitStruct(value, at, visit)
	case reflect.Slice, reflect.Array:
		if isScalar(value.Type().Elem()) {
			return nil
		}
		for i := range value.Len() {
			if err := w.visit(value.Index(i), at.at("["+strconv.Itoa(i)+"]"), visit); err != nil {
				return err
			}
		}
	case reflect.Map:
		if !isScalar(value.Type().Elem()) {
			return w.visitMap(value, at, visit)
		}
	}
	return nil
}

// isScalar reports whether values of a type contain no other values. Lists of them, such as []byte, may be large.
func isScalar(t reflect.Type) bool {
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

func visitLeaf(byValue bool, value reflect.Value, at occurrence, visit func(occurrence) error) error {
	if !byValue {
		if !value.CanAddr() {
			return fmt.Errorf("reference %s cannot be loaded, because its address is not known", at.Path)
		}
		value = value.Addr()
	}
	if value.Kind() == reflect.Pointer && value.IsNil() {
		return nil
	}
	at.Value = value.Interface()
	return visit(at)
}

func (w walker) visitStruct(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	at.Target = at.Target || value.Type() == reflect.TypeFor[KubeConfigSpec]()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !isVisited(field) {
			continue
		}
		inner, name := at, jsonName(field)
		if !w.isEmbeddedReference(field) {
			inner.tag = field.Tag
		}
		if name != "" {
			inner.Path += "." + name
		}
		if err := w.visit(value.Field(i), inner, visit); err != nil {
			return err
		}
	}
	return nil
}

// isVisited reports whether a field of a struct may have references.
func isVisited(field reflect.StructField) bool {
	return field.IsExported() || field.Anonymous && field.Type.Kind() == reflect.Struct
}

// isEmbeddedReference reports whether the field turns the surrounding struct into a reference and has no tags of its
// own. Then the tags of the field that holds the struct apply.
func (w walker) isEmbeddedReference(field reflect.StructField) bool {
	_, keys := field.Tag.Lookup("fallbackKeys")
	_, policy := field.Tag.Lookup("notFoundPolicy")
	leaf, _ := w.isLeaf(field.Type)
	return jsonName(field) == "" && leaf && !keys && !policy
}

func (w walker) visitMap(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	keys := value.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, key := range keys {
		item := copyOf(value.MapIndex(key))
		if err := w.visit(item, at.at("["+strconv.Quote(fmt.Sprint(key))+"]"), visit); err != nil {
			return err
		}
		value.SetMapIndex(key, item)
	}
	return nil
}

// isLeaf reports whether values of the type are references, and whether their methods need no pointer.
func (w walker) isLeaf(t reflect.Type) (leaf bool, byValue bool) {
	switch {
	case isObjectReference(t):
		return true, false
	case w.extension == nil || t.Kind() == reflect.Interface:
		return false, false
	case t.Implements(w.extension):
		return true, true
	default:
		return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(w.extension), false
	}
}

// jsonName returns the name of a field in JSON; empty if the field is inlined.
func jsonName(field reflect.StructField) string {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name != "" && name != "-":
		return name
	case field.Anonymous && (name == "" || strings.Contains(options, "inline")):
		return ""
	default:
		return field.Name
	}
}
