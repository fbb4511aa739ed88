// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/types"
)

// The annotations.
const (
	HookAnnotation             = "argocd.argoproj.io/hook"
	HookDeletePolicyAnnotation = "argocd.argoproj.io/hook-delete-policy"
	SyncWaveAnnotation         = "argocd.argoproj.io/sync-wave"
	SyncOptionsAnnotation      = "argocd.argoproj.io/sync-options"

	HelmHookAnnotation             = "helm.sh/hook"
	HelmHookDeletePolicyAnnotation = "helm.sh/hook-delete-policy"
	HelmHookWeightAnnotation       = "helm.sh/hook-weight"
)

// HookFinalizer is the finalizer of Argo CD on hooks that it runs. A new owner of the hook must remove it, because
// nobody else will.
const HookFinalizer = "argocd.argoproj.io/hook-finalizer"

// A Phase is when an object is applied.
type Phase string

// The phases, in their order.
const (
	// PreSync is before everything else is applied.
	PreSync Phase = "PreSync"
	// Sync is when objects without a hook annotation are applied.
	Sync Phase = "Sync"
	// PostSync is when everything is applied and healthy.
	PostSync Phase = "PostSync"
	// SyncFail is when applying has failed.
	SyncFail Phase = "SyncFail"
	// PreDelete is before the first object is deleted.
	PreDelete Phase = "PreDelete"
	// PostDelete is when all objects are gone.
	PostDelete Phase = "PostDelete"
)

var phases = []Phase{PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete}

// argoPhases contains all hooks of Argo CD; the phase is empty for Skip.
var argoPhases = map[string]Phase{
	"PreSync": PreSync, "Sync": Sync, "PostSync": PostSync, "SyncFail": SyncFail, "PreDelete": PreDelete, "PostDelete": PostDelete, "Skip": "",
}

// helmPhases contains all hooks of Helm; the phase is empty if Argo CD has none for it.
var helmPhases = map[string]Phase{
	"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync, "pre-delete": PreDelete, "post-delete": PostDelete,
	"pre-rollback": "", "post-rollback": "", "test": "", "test-success": "", "test-failure": "", crdInstall: "",
}

// crdInstall is the hook with which charts for Helm 2 marked definitions.
const crdInstall = "crd-install"

// A DeletePolicy defines when a hook is deleted.
type DeletePolicy string

// The policies.
const (
	// HookSucceeded deletes a hook after it has succeeded.
	HookSucceeded DeletePolicy = "HookSucceeded"
	// HookFailed deletes a hook after it has failed.
	HookFailed DeletePolicy = "HookFailed"
	// BeforeHookCreation deletes a hook of an earlier run before it is created again.
	BeforeHookCreation DeletePolicy = "BeforeHookCreation"
)

var (
	deletePolicies     = map[string]DeletePolicy{"HookSucceeded": HookSucceeded, "HookFailed": HookFailed, "BeforeHookCreation": BeforeHookCreation}
	helmDeletePolicies = map[string]DeletePolicy{"hook-succeeded": HookSucceeded, "hook-failed": HookFailed, "before-hook-creation": BeforeHookCreation}
)

// MaxWave is the maximum wave. The minimum is its negative.
const MaxWave = 9999

// Steering contains the parsed annotations of an object.
type Steering struct {
	// Hook means that the object is a hook: it is applied once in each of its phases whenever the set of objects has
	// changed.
	Hook bool
	// Phases in which the object is applied, in order: Sync if it is not a hook, none if it is not applied.
	Phases []Phase
	// Wave within each phase.
	Wave int
	// DeletePolicies of a hook; at least one. Defaulted means that the annotations contain none.
	DeletePolicies []DeletePolicy
	Defaulted      bool
	// Options of the object.
	Options Options
	// Notes report the parts of the annotations that have no effect.
	Notes []string
}

// HasHook reports whether an object is a hook of Argo CD.
func HasHook(annotations map[string]string) bool { return len(split(annotations[HookAnnotation])) > 0 }

// HasHelmHook reports whether an object is a hook of Helm.
func HasHelmHook(annotations map[string]string) bool {
	return len(split(annotations[HelmHookAnnotation])) > 0
}

// IsSteered reports whether an object has annotations of Argo CD that Read parses.
func IsSteered(annotations map[string]string) bool {
	keys := []string{HookAnnotation, HookDeletePolicyAnnotation, SyncWaveAnnotation, SyncOptionsAnnotation}
	return slices.ContainsFunc(keys, func(key string) bool {
		_, exists := annotations[key]
		return exists
	})
}

// Read parses the annotations of an object. The error contains the annotation, its value, and what is allowed.
func Read(annotations map[string]string) (Steering, error) {
	s := Steering{}
	var err error
	if s.Hook, s.Phases, err = phasesOf(annotations); err != nil {
		return Steering{}, err
	}
	if s.Wave, err = waveOf(annotations); err != nil {
		return Steering{}, err
	}
	if s.Hook {
		s.DeletePolicies, err = valuesOf(annotations, HookDeletePolicyAnnotation, deletePolicies, HelmHookDeletePolicyAnnotation, helmDeletePolicies)
		if err != nil {
			return Steering{}, err
		}
		s.Defaulted = len(s.DeletePolicies) == 0
	}
	const place = "annotation " + SyncOptionsAnnotation
	all, notes, err := ReadOptions(place, annotations[SyncOptionsAnnotation])
	if err != nil {
		return Steering{}, err
	}
	var more []string
	s.Options, more = all.ofObject(place)
	isForced := s.Options.Get(Force) == True && s.Options.Get(Replace) == True
	if s.Hook && (s.Defaulted || isForced && !slices.Contains(s.DeletePolicies, BeforeHookCreation)) {
		s.DeletePolicies = append(s.DeletePolicies, BeforeHookCreation)
	}
	s.Notes = slices.Concat(notes, more)
	return s, nil
}

// phasesOf returns the phases of an object, and whether it is a hook.
func phasesOf(annotations map[string]string) (hook bool, found []Phase, err error) {
	isDefinition := slices.Equal(split(strings.ToLower(annotations[HelmHookAnnotation])), []string{crdInstall})
	if !HasHook(annotations) && (!HasHelmHook(annotations) || isDefinition) {
		return false, []Phase{Sync}, nil
	}
	values, err := valuesOf(annotations, HookAnnotation, argoPhases, HelmHookAnnotation, helmPhases)
	found = slices.DeleteFunc(slices.Clone(phases), func(phase Phase) bool { return !slices.Contains(values, phase) })
	return len(found) > 0, found, err
}

func waveOf(annotations map[string]string) (int, error) {
	key := SyncWaveAnnotation
	if strings.TrimSpace(annotations[key]) == "" {
		key = HelmHookWeightAnnotation
	}
	return integerOf(annotations, key, MaxWave)
}

// integerOf parses an annotation with a number between -most and most. It returns 0 if the annotation is missing.
func integerOf(annotations map[string]string, key string, most int) (int, error) {
	value := strings.TrimSpace(annotations[key])
	if value == "" {
		return 0, nil
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < -most || number > most {
		return 0, fmt.Errorf("annotation %s: invalid value %q; must be an integer from %d to %d", key, annotations[key], -most, most)
	}
	return number, nil
}

// valuesOf returns the known values that an annotation lists, each once. If the annotation is empty, it returns those
// of the corresponding annotation of Helm.
func valuesOf[V comparable](annotations map[string]string, key string, known map[string]V, helmKey string, helmKnown map[string]V) ([]V, error) {
	names := split(annotations[key])
	if len(names) == 0 {
		key, known = helmKey, helmKnown
		names = split(strings.ToLower(annotations[key]))
	}
	var found []V
	for _, name := range names {
		value, ok := known[name]
		if !ok {
			return nil, invalid(key, annotations[key], name, sorted(known))
		}
		if !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found, nil
}

// invalid returns an error for one of several values of an annotation.
func invalid(key, value, part, allowed string) error {
	return fmt.Errorf("annotation %s: invalid value %q: %q is not known; must be one of: %s", key, value, part, allowed)
}

// split returns the parts of a comma-separated value, without surrounding blanks and empty parts.
func split(value string) []string {
	parts := strings.Split(value, ",")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// sorted returns the sorted keys of a table as a text.
func sorted[K ~string, V any](table map[K]V) string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(table)) {
		keys = append(keys, string(key))
	}
	return strings.Join(keys, ", ")
}

// An Option is the name of a sync option.
type Option string

// The options that have an effect.
const (
	// Prune controls what happens when an object is no longer declared: with false it is kept, with confirm it is
	// deleted after approval.
	Prune Option = "Prune"
	// Delete controls the same when everything is deleted.
	Delete Option = "Delete"
	// PruneLast: the object is deleted when everything else is applied and healthy.
	PruneLast Option = "PruneLast"
	// PrunePropagationPolicy of deletions: foreground, background or orphan.
	PrunePropagationPolicy Option = "PrunePropagationPolicy"
	// Force: an object that cannot be updated, because an immutable field differs, is deleted and created again.
	Force Option = "Force"
	// Replace: the object is replaced as a whole.
	Replace Option = "Replace"
	// Validate: with false, fields that the API server does not know are left out; otherwise, the caller may refuse
	// them.
	Validate Option = "Validate"
	// CreateNamespace: a missing namespace is created.
	CreateNamespace Option = "CreateNamespace"
	// FailOnSharedResource: an object of another owner is refused regardless of the adoption policy.
	FailOnSharedResource Option = "FailOnSharedResource"
	// SkipDryRunOnMissingResource: the type of the object need not be served before the object is applied.
	SkipDryRunOnMissingResource Option = "SkipDryRunOnMissingResource"
)

// Values of options. The first value of an option in the table is its default.
const (
	True       = "true"
	False      = "false"
	Confirm    = "confirm"
	Foreground = "foreground"
	Background = "background"
	Orphan     = "orphan"
)

// A rule defines the values and the effect of an option.
type rule struct {
	// values are the allowed values, the default first.
	values []string
	// alwaysSo means that the option has no effect, because its behavior is always on.
	alwaysSo bool
	// note is the reason why the option has no effect; empty if it has one.
	note string
	// whole means that the option is for whole applications, not for single objects.
	whole bool
	// refused contains the reasons why values of Argo CD are not supported.
	refused map[string]string
}

// rules is the table of sync options.
var rules = map[Option]rule{
	Prune:                       {values: []string{True, False, Confirm}},
	Delete:                      {values: []string{True, False, Confirm}},
	PruneLast:                   {values: []string{False, True}},
	PrunePropagationPolicy:      {values: []string{Foreground, Background, Orphan}},
	Force:                       {values: []string{False, True}},
	Replace:                     {values: []string{False, True}},
	Validate:                    {values: []string{True, False}, note: "fields that the API server does not know are left out anyway, and noted"},
	CreateNamespace:             {values: []string{False, True}, whole: true},
	FailOnSharedResource:        {values: []string{False, True}, whole: true},
	"RespectIgnoreDifferences":  {values: []string{True, False}, alwaysSo: true},
	"ServerSideApply":           {values: []string{True}, alwaysSo: true, refused: map[string]string{False: "objects are always applied by the server"}},
	"ApplyOutOfSyncOnly":        {values: []string{True, False}, alwaysSo: true},
	SkipDryRunOnMissingResource: {values: []string{False, True}},
	"ClientSideApplyMigration":  {values: []string{True, False}, alwaysSo: true},
}

// Options are the values of sync options that have an effect, for one object or for all.
type Options map[Option]string

// Get returns the value of an option, or its default.
func (o Options) Get(option Option) string {
	if value, given := o[option]; given {
		return value
	}
	return rules[option].values[0]
}

// ofObject returns the options that apply to single objects, and notes about the others.
func (o Options) ofObject(place string) (found Options, notes []string) {
	found = Options{}
	for _, option := range slices.Sorted(maps.Keys(o)) {
		if rules[option].whole {
			notes = append(notes, fmt.Sprintf("%s: %s has no effect, because it is for whole applications", place, option))
			continue
		}
		found[option] = o[option]
	}
	return found, notes
}

// ReadOptions parses comma-separated options. If one has several values, the first wins. The notes report unknown
// options, which have no effect. The error contains the place of the options, such as the key of an annotation, the
// option, its value, and what is allowed.
func ReadOptions(place, text string) (found Options, notes []string, err error) {
	found = Options{}
	for _, item := range split(text) {
		name, value, _ := strings.Cut(item, "=")
		option, value := Option(strings.TrimSpace(name)), strings.TrimSpace(value)
		rule, known := rules[option]
		_, repeated := found[option]
		switch {
		case !known:
			notes = append(notes, fmt.Sprintf("%s: %s has no effect; known options are: %s", place, option, sorted(rules)))
		case rule.refused[value] != "":
			return nil, nil, fmt.Errorf("%s: %s: value %q is not supported, because %s", place, option, value, rule.refused[value])
		case !slices.Contains(rule.values, value):
			return nil, nil, fmt.Errorf("%s: %s: invalid value %q; must be one of: %s", place, option, value, strings.Join(rule.values, ", "))
		case rule.note != "":
			if !repeated {
				found[option] = value
			}
			if value != rule.values[0] {
				notes = append(notes, fmt.Sprintf("%s: %s=%s has no effect: %s", place, option, value, rule.note))
			}
		case rule.alwaysSo && value == False:
			notes = append(notes, fmt.Sprintf("%s: %s=%s has no effect, because it is always %s", place, option, value, True))
		case !rule.alwaysSo && !repeated:
			found[option] = value
		}
	}
	return found, notes, nil
}

// offset moves PreSync before all waves of Sync. Hooks of Helm charts use waves in between, from -201 to 201.
const offset = 20000

// ApplyOrder returns the apply order for a wave of a phase. The waves of PreSync are before those of Sync. Other phases
// are applied separately; their apply order is the wave.
func ApplyOrder(phase Phase, wave int) int {
	if phase == PreSync {
		return wave - offset
	}
	return wave
}

// PhaseOf returns the phase and wave for an apply order, as far as ApplyOrder distinguishes them.
func PhaseOf(order int) (phase Phase, wave int) {
	if order <= MaxWave-offset {
		return PreSync, order + offset
	}
	return Sync, order
}

// Placed is an object with its place in the order.
type Placed struct {
	types.ObjectID

	// Defines is the type that a CustomResourceDefinition defines; empty for all others.
	Defines schema.GroupKind
	// Order is the apply order.
	Order int
}

// namespaces is the type of namespaces.
var namespaces = schema.GroupKind{Kind: "Namespace"}

// Lift moves a Namespace to the order of the first object in it, and then a CustomResourceDefinition to that of the
// first object of its type, if these come earlier. Within one order, Namespaces and definitions come first anyway. The
// objects must be those of one call of the engine, with their final namespaces.
func Lift(objects []Placed) {
	first := map[string]int{}
	for _, object := range objects {
		if object.Namespace != "" {
			first[object.Namespace] = earliest(first, object.Namespace, object.Order)
		}
	}
	for i, object := range objects {
		if object.GroupKind == namespaces {
			objects[i].Order = earliest(first, object.Name, object.Order)
		}
	}
	firstOf := map[schema.GroupKind]int{}
	for _, object := range objects {
		firstOf[object.GroupKind] = earliest(firstOf, object.GroupKind, object.Order)
	}
	for i, object := range objects {
		if !object.Defines.Empty() {
			objects[i].Order = earliest(firstOf, object.Defines, object.Order)
		}
	}
}

// earliest returns the given order, or the one in the table if that is earlier.
func earliest[K comparable](table map[K]int, key K, order int) int {
	if known, ok := table[key]; ok {
		return min(known, order)
	}
	return order
}

const (
	// maxNameLength is the maximum length of label values, because controllers such as that of Jobs use names as such.
	maxNameLength = 63
	// nameDigestLength is the length of the digest in a generated name, in hexadecimal digits.
	nameDigestLength = 10
)

// PhaseName returns the name of a hook in any but its first phase, such as "migrate-postsync". A name that would be too
// long is cut, and gets a digest.
func PhaseName(name string, phase Phase) (string, error) {
	suffix := "-" + strings.ToLower(string(phase))
	if len(name)+len(suffix) <= maxNameLength {
		return name + suffix, nil
	}
	sum, err := manifest.Digest(name)
	if err != nil {
		return "", fmt.Errorf("shortening the name %s: %w", name, err)
	}
	return name[:maxNameLength-len(suffix)-nameDigestLength-1] + "-" + sum[:nameDigestLength] + suffix, nil
}

// GeneratedName returns a name for a nameless hook. It begins with base, which is the hook's generateName, if any. The
// name is the same whenever the hook is generated for the same revision, so repeating a call does not run the hook
// again. It differs between owners, phases and revisions.
func GeneratedName(hook any, base string, phase Phase, owner, revision string) (string, error) {
	sum, err := manifest.Digest(map[string]any{"manifest": hook, "phase": string(phase), "owner": owner, "revision": revision})
	if err != nil {
		return "", fmt.Errorf("generating a name from %s: %w", base, err)
	}
	return base[:min(len(base), maxNameLength-nameDigestLength)] + sum[:nameDigestLength], nil
}
