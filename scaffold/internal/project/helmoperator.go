// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// A watch is an entry of watches.yaml: a kind that the helm operator of operator-sdk reconciles.
type watch struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Chart is the folder of the chart, relative to the project.
	Chart string `json:"chart"`
	// OverrideValues are values by their path, as for helm --set-string. They win over those of the custom resource, and may
	// contain variables of the environment.
	OverrideValues map[string]string `json:"overrideValues"`
	// WatchDependentResources and the following fields have no counterpart.
	WatchDependentResources *bool  `json:"watchDependentResources"`
	ReconcilePeriod         string `json:"reconcilePeriod"`
	Selector                any    `json:"selector"`
	DryRunOption            string `json:"dryRunOption"`
}

// FromHelmOperator completes the options by those of a project of operator-sdk's helm operator. If it has several
// kinds, the option Kind chooses one. The notes say what has no counterpart.
func (o *Options) FromHelmOperator(folder string) (notes []string, err error) {
	content, err := os.ReadFile(filepath.Join(folder, "watches.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the project of the helm operator: %w", err)
	}
	var watches []watch
	if err := yaml.Unmarshal(content, &watches); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(folder, "watches.yaml"), err)
	}
	w, err := o.chooseWatch(watches)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, "watches.yaml"), err)
	}
	for _, row := range []struct {
		flag   string
		option *string
		value  string
	}{{"group-name", &o.GroupName, w.Group}, {"group-version", &o.GroupVersion, w.Version}, {"kind", &o.Kind, w.Kind}} {
		if *row.option != "" && *row.option != row.value {
			return nil, fmt.Errorf("--%s: invalid value %q: the live objects have %q", row.flag, *row.option, row.value)
		}
		*row.option = row.value
	}
	if o.OperatorName == "" {
		o.OperatorName = strings.ToLower(w.Kind) + "." + w.Group
	}
	o.Generator, o.Chart, o.HelmOperator = GeneratorHelm, filepath.Join(folder, filepath.FromSlash(w.Chart)), true
	if err := o.readDefinition(folder, w); err != nil {
		return nil, err
	}
	environment, err := managerEnvironment(folder)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(w.OverrideValues)) {
		assignment := key + "=" + w.OverrideValues[key]
		o.SetString = append(o.SetString, assignment)
		os.Expand(assignment, func(name string) string {
			if _, known := environment[name]; !known {
				notes = append(notes, "Variable "+name+" has no value in config/manager/manager.yaml: set it in chart/values.yaml.")
			}
			if o.Environment == nil {
				o.Environment = map[string]string{}
			}
			o.Environment[name] = environment[name]
			return ""
		})
	}
	return append(notes, w.notes()...), nil
}

// chooseWatch returns the entry for the kind that was chosen, or for the only one.
func (o *Options) chooseWatch(watches []watch) (watch, error) {
	var kinds []string
	for _, w := range watches {
		kinds = append(kinds, w.Kind)
	}
	if o.Kind == "" && len(watches) == 1 {
		return watches[0], nil
	}
	if at := slices.Index(kinds, o.Kind); at >= 0 {
		return watches[at], nil
	}
	return watch{}, fmt.Errorf("a project is made for one kind: choose it by --kind: %s", strings.Join(kinds, ", "))
}

// readDefinition takes the plural over from the CustomResourceDefinition of the project, and checks the scope.
func (o *Options) readDefinition(folder string, w watch) error {
	files, err := filepath.Glob(filepath.Join(folder, "config/crd/bases/*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a definition: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, definition); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if definition.Spec.Group != w.Group || definition.Spec.Names.Kind != w.Kind {
			continue
		}
		if definition.Spec.Scope != apiextensionsv1.NamespaceScoped {
			return fmt.Errorf("%s: spec.scope is %s: only kinds in namespaces can be taken over", file, definition.Spec.Scope)
		}
		o.Resource = definition.Spec.Names.Plural
	}
	return nil
}

// managerEnvironment returns the environment of the helm operator.
func managerEnvironment(folder string) (map[string]string, error) {
	environment := map[string]string{}
	file := filepath.Join(folder, "config/manager/manager.yaml")
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return environment, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Deployment of the helm operator: %w", err)
	}
	for _, document := range bytes.Split(content, []byte("\n---")) {
		deployment := &appsv1.Deployment{}
		if err := yaml.Unmarshal(document, deployment); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			for _, variable := range container.Env {
				if variable.ValueFrom == nil {
					environment[variable.Name] = variable.Value
				}
			}
		}
	}
	return environment, nil
}

// notes says what has no counterpart.
func (w watch) notes() []string {
	var notes []string
	if w.WatchDependentResources != nil && !*w.WatchDependentResources {
		notes = append(notes, "watchDependentResources: false has no counterpart: changes of dependents by others are corrected, unless the option DriftPolicy says otherwise.")
	}
	if w.ReconcilePeriod != "" {
		notes = append(notes, "reconcilePeriod: "+w.ReconcilePeriod+" has no counterpart: dependents are watched. "+
			"spec.requeueInterval of a component says how often it is looked at without an event.")
	}
	if w.Selector != nil {
		notes = append(notes, "The selector has no counterpart: the operator reconciles all objects of the kind.")
	}
	if w.DryRunOption != "" {
		notes = append(notes, "dryRunOption: "+w.DryRunOption+" has no counterpart: lookups in templates always see the cluster.")
	}
	return notes
}

// helmsOwn are resources that the helm operator needs for itself.
var helmsOwn = []string{"secrets", "configmaps", "namespaces", "events", "leases"}

// NoteFormerRights notes rights of a helm operator that the chart was not seen to need.
func (c *Contents) NoteFormerRights(options *Options, folder string) error {
	content, err := os.ReadFile(filepath.Join(folder, "config/rbac/role.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	role := &rbacv1.ClusterRole{}
	if err == nil {
		err = yaml.Unmarshal(content, role)
	}
	if err != nil {
		return fmt.Errorf("reading the role of the helm operator: %w", err)
	}
	has := func(group, resource string) bool {
		return group == options.GroupName || group == corev1.GroupName && slices.Contains(helmsOwn, resource) ||
			slices.ContainsFunc(c.Rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.APIGroups, group) && (slices.Contains(rule.Resources, resource) || slices.Contains(rule.Resources, rbacv1.ResourceAll))
			})
	}
	var left []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if name := strings.TrimSuffix(resource+"."+group, "."); !has(group, resource) && !slices.Contains(left, name) {
					left = append(left, name)
				}
			}
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		c.note("The helm operator also has rights on " + strings.Join(left, ", ") + ", which the chart was not seen to need; if it does, add them to rbac.additionalRules.")
	}
	return nil
}
