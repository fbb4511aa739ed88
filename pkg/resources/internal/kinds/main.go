// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command kinds writes what the packages of typed resources have in common, one file for each kind, from one table: types, builders, mutators with their categories, and
// handlers that only call others. What is particular to a kind is written by hand, beside the generated file.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/tools/imports"
)

//go:embed kind.go.tmpl
var fileTemplate string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes all files below the folder of package resources.
func run(args []string) error {
	if len(args) != 1 {
		return errors.New("one argument is required: the folder of package resources")
	}
	for _, k := range kinds {
		content, err := k.write()
		if err != nil {
			return fmt.Errorf("package %s: %w", k.Package, err)
		}
		folder := filepath.Join(args[0], k.Package)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "zz_generated.kind.go"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// write returns the file of a kind.
func (k kind) write() ([]byte, error) {
	parsed, err := template.New("kind").Parse(fileTemplate)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, k); err != nil {
		return nil, err
	}
	// The template imports what any kind needs.
	return imports.Process(k.Package+".go", text.Bytes(), nil)
}

// Kind returns the name of the Go type, which is that of the kind.
func (k kind) Kind() string { return k.Go[strings.Index(k.Go, ".")+1:] }

// Version returns the name of the package with the Go type.
func (k kind) Version() string {
	version, _, _ := strings.Cut(k.Go, ".")
	return version
}

// StatusType returns the Go type of the status.
func (k kind) StatusType() string {
	return "concepts." + cmp.Or(k.Status, "Operational") + "StatusWithReason"
}

// Interface returns the interface that the status implies.
func (k kind) Interface() string {
	return strings.Replace(cmp.Or(k.Status, "Operational"), "Completion", "Completable", 1)
}

// Article returns the kind with an article.
func (k kind) Article() string {
	if strings.ContainsAny(k.Kind()[:1], "AEIOU") {
		return "an " + k.Kind()
	}
	return "a " + k.Kind()
}

// Judged reports whether the package knows the status better than the reconciler.
func (k kind) Judged() bool { return k.Handlers != applied }

// Graded reports whether the package has a handler of its own for the grade.
func (k kind) Graded() bool { return k.Status == "Alive" }

// IsWorkload reports whether a function workload of the package has the numbers for the status.
func (k kind) IsWorkload() bool { return k.Handlers == workload }

// ScalesToZero reports whether objects are suspended by having no replicas.
func (k kind) ScalesToZero() bool { return k.Suspend == toZero }

// IsDeleted reports whether objects are suspended by deletion.
func (k kind) IsDeleted() bool { return k.Suspend == deletion }

// SuspendsItself reports whether objects have a suspended form.
func (k kind) SuspendsItself() bool { return k.Suspend == toZero || k.Suspend == bySpec }

// A kind is a row of the table.
type kind struct {
	// Package is the name of the package, Go the Go type of objects.
	Package, Go string
	// ClusterScoped objects have no namespace.
	ClusterScoped bool
	// Status is Alive or Completion; empty for Operational.
	Status string
	// Handlers says where the handlers of the status are from.
	Handlers source
	// Suspend says what suspends objects.
	Suspend suspension
	// Addressed means that the package has another handler, for objects that must have an address.
	Addressed bool
	// RoleRef means that objects must have a complete reference to a role.
	RoleRef bool
	// Categories are the categories of edits that follow those of metadata, in their order. If objects are suspended by
	// having no replicas, the first one is that of the spec.
	Categories []category
}

// source says where handlers are from.
type source int

const (
	applied  source = iota // ready as soon as it is applied, as far as the reconciler does not know better
	workload               // from the numbers that a function workload of the package returns
	own                    // functions of the package
)

// suspension says what suspends objects.
type suspension int

const (
	never    suspension = iota // nothing: suspended components leave these objects alone
	toZero                     // no replicas
	deletion                   // deletion
	bySpec                     // functions of the package
)

// A category is a category of edits.
type category struct {
	// Field is the field of the mutator with the category.
	Field string
	// Method records edits; empty if methods of the package do.
	Method string
	// Editor is its Go type, New makes one.
	Editor, New string
	// Titles appear in errors and in the documentation. There is one, unless the category is Embedded.
	Titles []string
	// Embedded is the part of package generic that has the categories instead: PodTemplate or PodSpec.
	Embedded string
	// Target is what New, or the constructor of the part, gets.
	Target string
}

// podSpec are the categories of a pod.
var podSpec = category{
	Embedded: "PodSpec", Target: "&current.Spec",
	Titles: []string{"pod spec", "presence of containers", "edits of containers", "presence of init containers", "edits of init containers"},
}

func podTemplate(target string) category {
	return category{Embedded: "PodTemplate", Titles: append([]string{"pod template metadata"}, podSpec.Titles...), Target: target}
}

// edit is a category with an editor of package editors.
func edit(field, method, editor, title, target string) category {
	return category{Field: field, Method: method, Editor: "*editors." + editor, New: "editors.New" + editor, Titles: []string{title}, Target: target}
}

// spec is edit for the spec of the object. The method and the editor are named after it.
func spec(name, title string) category {
	return edit("spec", "Edit"+name, name+"Editor", title, "&current.Spec")
}

// value is a category without an editor: its edits get a pointer to the value.
func value(field, goType, title, target string) category {
	return category{Field: field, Editor: "*" + goType, Titles: []string{title}, Target: target}
}

var (
	pods     = podTemplate("&current.Spec.Template")
	rules    = edit("rules", "EditRules", "PolicyRulesEditor", "rules", "&current.Rules")
	subjects = edit("subjects", "EditSubjects", "BindingSubjectsEditor", "subjects", "&current.Subjects")
)

var kinds = []kind{
	{
		Package: "deployment", Go: "appsv1.Deployment", Status: "Alive", Handlers: workload, Suspend: toZero,
		Categories: []category{spec("DeploymentSpec", "deployment spec"), pods},
	},
	{
		Package: "replicaset", Go: "appsv1.ReplicaSet", Status: "Alive", Handlers: workload, Suspend: toZero,
		Categories: []category{spec("ReplicaSetSpec", "replicaset spec"), pods},
	},
	{
		Package: "statefulset", Go: "appsv1.StatefulSet", Status: "Alive", Handlers: workload, Suspend: toZero,
		Categories: []category{
			spec("StatefulSetSpec", "statefulset spec"), pods,
			value("claims", "[]corev1.PersistentVolumeClaim", "volume claim templates", "&current.Spec.VolumeClaimTemplates"),
		},
	},
	{
		Package: "daemonset", Go: "appsv1.DaemonSet", Status: "Alive", Handlers: workload, Suspend: deletion,
		Categories: []category{spec("DaemonSetSpec", "daemonset spec"), pods},
	},
	{Package: "pod", Go: "corev1.Pod", Status: "Alive", Handlers: own, Suspend: deletion, Categories: []category{podSpec}},
	{
		Package: "job", Go: "batchv1.Job", Status: "Completion", Handlers: own, Suspend: bySpec,
		Categories: []category{spec("JobSpec", "job spec"), pods},
	},
	{
		Package: "cronjob", Go: "batchv1.CronJob", Handlers: own, Suspend: bySpec,
		Categories: []category{
			spec("CronJobSpec", "cronjob spec"), edit("job", "EditJobSpec", "JobSpecEditor", "job spec", "&current.Spec.JobTemplate.Spec"),
			podTemplate("&current.Spec.JobTemplate.Spec.Template"),
		},
	},
	{Package: "service", Go: "corev1.Service", Handlers: own, Categories: []category{spec("ServiceSpec", "service spec")}},
	{
		Package: "ingress", Go: "networkingv1.Ingress", Handlers: own, Addressed: true,
		Categories: []category{spec("IngressSpec", "ingress spec")},
	},
	{
		Package: "hpa", Go: "autoscalingv2.HorizontalPodAutoscaler", Handlers: own, Suspend: deletion,
		Categories: []category{spec("HPASpec", "autoscaler spec")},
	},
	{Package: "pvc", Go: "corev1.PersistentVolumeClaim", Handlers: own, Categories: []category{spec("PVCSpec", "claim spec")}},
	{
		Package: "pv", Go: "corev1.PersistentVolume", ClusterScoped: true, Handlers: own,
		Categories: []category{spec("PVSpec", "volume spec")},
	},
	{
		Package: "configmap", Go: "corev1.ConfigMap",
		Categories: []category{edit("data", "EditData", "ConfigMapDataEditor", "data", "current")},
	},
	{Package: "secret", Go: "corev1.Secret", Categories: []category{edit("data", "EditData", "SecretDataEditor", "data", "current")}},
	{
		Package: "serviceaccount", Go: "corev1.ServiceAccount",
		Categories: []category{
			value("pullSecrets", "[]corev1.LocalObjectReference", "image pull secrets", "&current.ImagePullSecrets"),
			value("automount", "*bool", "automount of the token", "&current.AutomountServiceAccountToken"),
		},
	},
	{Package: "role", Go: "rbacv1.Role", Categories: []category{rules}},
	{
		Package: "clusterrole", Go: "rbacv1.ClusterRole", ClusterScoped: true,
		Categories: []category{rules, value("aggregation", "*rbacv1.AggregationRule", "aggregation rule", "&current.AggregationRule")},
	},
	{Package: "rolebinding", Go: "rbacv1.RoleBinding", RoleRef: true, Categories: []category{subjects}},
	{Package: "clusterrolebinding", Go: "rbacv1.ClusterRoleBinding", ClusterScoped: true, RoleRef: true, Categories: []category{subjects}},
	{
		Package: "pdb", Go: "policyv1.PodDisruptionBudget",
		Categories: []category{edit("spec", "EditPDBSpec", "PodDisruptionBudgetSpecEditor", "disruption budget spec", "&current.Spec")},
	},
	{
		Package: "networkpolicy", Go: "networkingv1.NetworkPolicy",
		Categories: []category{spec("NetworkPolicySpec", "network policy spec")},
	},
	{Package: "namespace", Go: "corev1.Namespace", ClusterScoped: true},
	{
		Package: "crd", Go: "apiextensionsv1.CustomResourceDefinition", ClusterScoped: true, Handlers: own,
		Categories: []category{edit("spec", "EditCRDSpec", "CustomResourceDefinitionSpecEditor", "definition spec", "&current.Spec")},
	},
}
