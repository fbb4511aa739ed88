// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubectlresource "k8s.io/cli-runtime/pkg/resource"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/types"
)

func newRolloutCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "rollout",
		Short: "Show and steer how a version of an operator reaches its components",
		Long: `Show and steer how a new version of an operator reaches its components, if the operator limits that. TYPE is the type of the components, such as
webshops.example.org. Only operators that are made with component-operator-runtime have components.`,
	}
	var output output
	status := &cobra.Command{
		Use:   "status TYPE",
		Short: "Show which components wait for the version, and why",
		Long: `Show how many components, in all namespaces, have become ready with the present version of their operator, and which of them wait for it, are
taking it, or have failed with it.`,
		Example: "  clm rollout status webshops.example.org",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return showRollout(e, output, args[0]) },
	}
	output = newOutput(status)
	command.AddCommand(status)
	for _, pause := range []bool{true, false} {
		name, short, long := "resume", "Let a paused rollout go on", "Let a paused rollout go on."
		if pause {
			name, short = "pause", "Let no further component take the version"
			long = `Let no further component take the present version of the operator. Those that have taken it go on, and changes of specs, new components and deletions do not
wait. clm sets an annotation of the CustomResourceDefinition; the operator needs the permission to get, list and watch it.`
		}
		command.AddCommand(&cobra.Command{
			Use: name + " TYPE", Short: short, Long: long, Example: "  clm rollout " + name + " webshops.example.org", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return steerRollout(e, args[0], pause) },
		})
	}
	command.AddCommand(&cobra.Command{
		Use: "retry TYPE", Short: "Have the operator reconcile the failed components now", Args: cobra.ExactArgs(1),
		Long:    "Have the operator reconcile the components now that have failed with the present version. The rollout goes on when they are ready.",
		Example: "  clm rollout retry webshops.example.org",
		RunE:    func(_ *cobra.Command, args []string) error { return retryRollout(e, args[0]) },
	})
	return command
}

// member is a component in a rollout.
type member struct {
	info                               *kubectlresource.Info
	operator, version, reason, message string
	failed                             bool
}

// members returns all components of a type, and its mapping. It refuses a type without a rollout.
func members(e *environment, kind string) (all []member, mapping *meta.RESTMapping, err error) {
	const page = 500
	result := kubectlresource.NewBuilder(e.kube).Unstructured().AllNamespaces(true).RequestChunksOf(page).ResourceTypeOrNameArgs(true, kind).Flatten().Do()
	if mapping, err = result.ResourceMapping(); err != nil {
		return nil, nil, err
	}
	found, err := result.Infos()
	if err != nil {
		return nil, nil, err
	}
	for _, info := range found {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		var content struct {
			Status struct {
				Rollout struct {
					Operator string `json:"operator"`
					Version  string `json:"version"`
				} `json:"rollout"`
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &content); err != nil {
			return nil, nil, fmt.Errorf("reading the status of %s: %w", display.ObjectOf(object), err)
		}
		m := member{info: info, operator: content.Status.Rollout.Operator, version: content.Status.Rollout.Version}
		if condition := meta.FindStatusCondition(content.Status.Conditions, "RolledOut"); condition != nil {
			m.reason, m.message = condition.Reason, condition.Message
		}
		if stalled := meta.FindStatusCondition(content.Status.Conditions, "Stalled"); m.reason == "Updating" && stalled != nil && stalled.Status == metav1.ConditionTrue {
			m.reason, m.message, m.failed = "Failed", stalled.Message, true
		}
		all = append(all, m)
	}
	if !slices.ContainsFunc(all, func(m member) bool { return m.operator != "" }) {
		return nil, nil, releases.Refused("there is no rollout of %s: no component has status.rollout, which operators with the option Rollout set", mapping.Resource.GroupResource())
	}
	return all, mapping, nil
}

func showRollout(e *environment, o output, kind string) error {
	all, mapping, err := members(e, kind)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, m := range all {
		counts[m.reason]++
	}
	if !o.forPeople() {
		return printList(o, e.out, all, func(_ int, m member) *unstructured.Unstructured {
			return resource("RolloutMember", m.info.Namespace, m.info.Name, map[string]any{"version": m.version, "reason": m.reason, "message": m.message})
		})
	}
	fmt.Fprintf(e.out, "%s: %d components", mapping.Resource.GroupResource(), len(all))
	for _, reason := range []string{"Arrived", "Updating", "Failed", "Waiting", "Stopped", "Paused"} {
		if counts[reason] > 0 {
			fmt.Fprintf(e.out, ", %d %s", counts[reason], reason)
		}
	}
	fmt.Fprintln(e.out)
	all = slices.DeleteFunc(all, func(m member) bool { return m.reason == "Arrived" || m.reason == "" })
	if len(all) == 0 {
		return nil
	}
	table := newTable(e.out, display.Column{Header: "NAMESPACE", Fit: display.Middle}, display.Column{Header: "NAME", Fit: display.Middle},
		display.Column{Header: "STATE"}, display.Column{Header: "MESSAGE", Fit: display.Below})
	for _, m := range all {
		table.AddTexts(m.info.Namespace, m.info.Name, m.reason, display.OneText(m.message))
	}
	return table.Write(e.out)
}

// steerRollout pauses a rollout, or resumes it, by an annotation of the definition of the type.
func steerRollout(e *environment, kind string, pause bool) error {
	all, mapping, err := members(e, kind)
	if err != nil {
		return err
	}
	operator := all[slices.IndexFunc(all, func(m member) bool { return m.operator != "" })].operator
	key, name := operator+"/"+types.AnnotationKeySuffixRolloutPaused, mapping.Resource.GroupResource().String()
	found, err := kubectlresource.NewBuilder(e.kube).Unstructured().ResourceTypeOrNameArgs(false, "customresourcedefinitions.apiextensions.k8s.io", name).Flatten().Do().Infos()
	if err != nil {
		return err
	}
	var value any
	state := "resumed"
	if pause {
		value, state = "true", "paused"
	}
	for _, info := range found {
		if err := annotate(info, key, value); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.out, "rollout of %s: %s\n", name, state)
	return nil
}

// retryRollout has the failed components reconciled.
func retryRollout(e *environment, kind string) error {
	all, mapping, err := members(e, kind)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return !m.failed })
	if len(all) == 0 {
		return releases.Refused("no component of %s has failed", mapping.Resource.GroupResource())
	}
	var problems []error
	for _, m := range all {
		problems = append(problems, requestReconciliation(e, m.info, m.info.ObjectName()+" in "+m.info.Namespace))
	}
	return errors.Join(problems...)
}
