// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Option is the name of a sync option.
type Option string

// The options that have an effect.
const (
	// Prune says what happens when an object is no longer declared: with false it stays, with confirm it is deleted
	// after approval.
	Prune Option = "Prune"
	// Delete controls the same for an object when everything is deleted.
	Delete Option = "Delete"
	// PruneLast: the object is deleted when everything else is applied and healthy.
	PruneLast Option = "PruneLast"
	// PrunePropagationPolicy of deletions: foreground, background or orphan.
	PrunePropagationPolicy Option = "PrunePropagationPolicy"
	// Force: an object that cannot be updated, because an immutable field differs, is deleted and created again.
	Force Option = "Force"
	// Replace: the object is replaced as a whole.
	Replace Option = "Replace"
	// Validate: false leaves out fields that the API server does not know, where the caller would refuse them
	// otherwise.
	Validate Option = "Validate"
	// CreateNamespace: a missing namespace is created.
	CreateNamespace Option = "CreateNamespace"
	// FailOnSharedResource: an object of another owner is refused, whatever the adoption policy says.
	FailOnSharedResource Option = "FailOnSharedResource"
	// SkipDryRunOnMissingResource: the type of the object need not be served before the object is applied.
	SkipDryRunOnMissingResource Option = "SkipDryRunOnMissingResource"
)

// Values of options. The first one of an option in the table is its default.
const (
	True       = "true"
	False      = "false"
	Confirm    = "confirm"
	Foreground = "foreground"
	Background = "background"
	Orphan     = "orphan"
)

// A rule says what an option may be.
type rule struct {
	// values that are allowed, the default first.
	values []string
	// alwaysSo means that the option has no effect, because it always holds.
	alwaysSo bool
	// note says why the option has no effect; empty if it has one.
	note string
	// whole means that the option is for whole applications, not for single objects.
	whole bool
	// refused says why a value that Argo CD knows is not possible.
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

// Options are sync options that have an effect, of one object or of all, with their values.
type Options map[Option]string

// Get returns the value of an option, or its default.
func (o Options) Get(option Option) string {
	if value, given := o[option]; given {
		return value
	}
	return rules[option].values[0]
}

// ofObject returns the options that have an effect on one object, and notes about the others.
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

// ReadOptions reads options that are separated by commas. If one has several values, the first counts. The notes name
// options that are not known, and so have no effect. The error names the place of the options, such as the key of an
// annotation, the option, its value, and what is allowed.
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
			return nil, nil, fmt.Errorf("%s: %s: invalid value %q; must be %s", place, option, value, oneOf(rule.values))
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
