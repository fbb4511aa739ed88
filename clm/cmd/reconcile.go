// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	kubectlresource "k8s.io/cli-runtime/pkg/resource"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/types"
)

// reconcileAt is the annotation whose change starts an attempt. Any annotation would do.
const reconcileAt = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReconcileAt

func newReconcileCommand(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "reconcile KIND/NAME...",
		Short: "Have an operator reconcile components now",
		Long: `Have an operator reconcile components now, instead of when their next attempt is due: what fails is retried more and more seldom, at least once a minute.
clm sets the annotation ` + reconcileAt + ` of the components, and does not wait. A component is a custom resource of an operator that is made with
component-operator-runtime, or an ObjectSet; to apply a release of clm again, use clm apply or clm drift --correct.`,
		Example: "  clm reconcile webshop/demo",
		RunE:    func(_ *cobra.Command, args []string) error { return runReconcile(e, args) },
	}
}

func runReconcile(e *environment, args []string) error {
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	found, err := kubectlresource.NewBuilder(e.kube).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(false, args...).ContinueOnError().Flatten().Do().Infos()
	problems := []error{err}
	for _, info := range found {
		component, _ := info.Object.(*unstructured.Unstructured)
		name := display.ObjectOf(component).String()
		if state, _, _ := unstructured.NestedString(component.Object, "status", "state"); state == "" {
			problems = append(problems, releases.Refused("%s is no component: no operator has reported its status.state", name))
			continue
		}
		problems = append(problems, requestReconciliation(e, info, name))
	}
	return errors.Join(problems...)
}

// requestReconciliation has an operator reconcile a component now.
func requestReconciliation(e *environment, info *kubectlresource.Info, name string) error {
	if err := annotate(info, reconcileAt, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s: reconciliation requested\n", name)
	return nil
}

// annotate sets an annotation of an object; nil removes it.
func annotate(info *kubectlresource.Info, key string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = kubectlresource.NewHelper(info.Client, info.Mapping).WithFieldManager(releases.ReconcilerName).
		Patch(info.Namespace, info.Name, apitypes.MergePatchType, patch, &metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patching %s: %w", info.ObjectName(), err)
	}
	return nil
}
