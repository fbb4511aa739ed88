// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command kinds writes what the packages of typed resources have in common, one file for each kind, from one table: types, builders, mutators with their categories, and
// handlers that only call others. What is particular to a kind is written by hand, beside the generated file.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
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
	return format.Source(text.Bytes())
}

// StatusType returns the Go type of the status.
func (k kind) StatusType() string { return "concepts." + k.Status + "StatusWithReason" }

// Interface returns the interface that the status implies.
func (k kind) Interface() string { return strings.Replace(k.Status, "Completion", "Completable", 1) }

// ImportLines returns the import declarations of what the file needs.
func (k kind) ImportLines() string {
	types := k.Go
	ours := []string{"concepts", "feature", "generic"}
	for _, c := range k.Categories {
		types += " " + c.Editor
	}
	if strings.Contains(types, "editors.") {
		ours = append(ours, "editors")
	}
	if k.RoleRef {
		ours = append(ours, "internal/handlers")
	}
	slices.Sort(ours)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if strings.Contains(types, name+".") {
			lines = append(lines, fmt.Sprintf("%s %q", name, imports[name]))
		}
	}
	lines = append(lines, "")
	for _, name := range ours {
		lines = append(lines, fmt.Sprintf("%q", "github.com/component-operator/runtime/pkg/resources/"+name))
	}
	return strings.Join(lines, "\n")
}

// Version returns the name of the package with the Go type.
func (k kind) Version() string { return strings.Split(k.Go, ".")[0] }

// Article returns the kind with an article.
func (k kind) Article() string {
	if strings.ContainsAny(k.Kind[:1], "AEIOU") {
		return "an " + k.Kind
	}
	return "a " + k.Kind
}

// CategoryList lists the categories for the documentation.
func (k kind) CategoryList() []string {
	var names []string
	for _, c := range k.Categories {
		if c.Embedded != "" {
			names = append(names, strings.Split(c.Titles, ", ")...)
		} else {
			names = append(names, c.Title)
		}
	}
	return names
}

// SpecEditor returns the editor of the category that has the number of replicas.
func (k kind) SpecEditor() string {
	i := slices.IndexFunc(k.Categories, func(c category) bool { return c.Method == k.Replicas })
	return k.Categories[i].Editor
}

// Judged reports whether the package knows the status better than the reconciler.
func (k kind) Judged() bool { return k.Handlers != applied }

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
	Package, Kind, Go string
	// ClusterScoped objects have no namespace.
	ClusterScoped bool
	// Status is Alive, Completion or Operational.
	Status string
	// Handlers says where the handlers of the status are from.
	Handlers source
	// Suspend says what suspends objects.
	Suspend suspension
	// Graded means that the package has a handler of its own for the grade.
	Graded bool
	// Addressed means that the package has another handler, for objects that must have an address.
	Addressed bool
	// RoleRef means that objects must have a complete reference to a role.
	RoleRef bool
	// Categories are the categories of edits, in their order.
	Categories []category
	// Replicas is the method that edits the spec, if that has a number of replicas.
	Replicas string
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
	// Title appears in errors and in the documentation.
	Title string
	// Embedded is the part of package generic that has the categories instead: Metadata, PodTemplate or PodSpec.
	Embedded string
	// Titles are the titles of the categories of that part.
	Titles string
	// Target is what New, or the constructor of the part, gets.
	Target string
}

const containers = "presence of containers, edits of containers, presence of init containers, edits of init containers"

// imports are the packages of Go types.
var imports = map[string]string{
	"apiextensionsv1": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"appsv1":          "k8s.io/api/apps/v1",
	"autoscalingv2":   "k8s.io/api/autoscaling/v2",
	"batchv1":         "k8s.io/api/batch/v1",
	"corev1":          "k8s.io/api/core/v1",
	"networkingv1":    "k8s.io/api/networking/v1",
	"policyv1":        "k8s.io/api/policy/v1",
	"rbacv1":          "k8s.io/api/rbac/v1",
}

var metadata = category{Embedded: "Metadata", Titles: "object metadata", Target: "&current.ObjectMeta"}

func podTemplate(target string) category {
	return category{Embedded: "PodTemplate", Titles: "pod template metadata, pod spec, " + containers, Target: target}
}

// edit is a category with an editor of package editors.
func edit(field, method, editor, title, target string) category {
	return category{Field: field, Method: method, Editor: "*editors." + editor, New: "editors.New" + editor, Title: title, Target: target}
}

// spec is edit for the spec of the object.
func spec(method, editor, title string) category {
	return edit("spec", method, editor, title, "&current.Spec")
}

// value is a category without an editor: its edits get a pointer to the value.
func value(field, goType, title, target string) category {
	return category{Field: field, Editor: "*" + goType, Title: title, Target: target}
}

var kinds = []kind{
	{
		Package: "deployment", Kind: "Deployment", Go: "appsv1.Deployment", Status: "Alive",
		Handlers: workload, Graded: true, Suspend: toZero, Replicas: "EditDeploymentSpec",
		Categories: []category{metadata, spec("EditDeploymentSpec", "DeploymentSpecEditor", "deployment spec"), podTemplate("&current.Spec.Template")},
	},
	{
		Package: "replicaset", Kind: "ReplicaSet", Go: "appsv1.ReplicaSet", Status: "Alive",
		Handlers: workload, Graded: true, Suspend: toZero, Replicas: "EditReplicaSetSpec",
		Categories: []category{metadata, spec("EditReplicaSetSpec", "ReplicaSetSpecEditor", "replicaset spec"), podTemplate("&current.Spec.Template")},
	},
	{
		Package: "statefulset", Kind: "StatefulSet", Go: "appsv1.StatefulSet", Status: "Alive",
		Handlers: workload, Graded: true, Suspend: toZero, Replicas: "EditStatefulSetSpec",
		Categories: []category{
			metadata, spec("EditStatefulSetSpec", "StatefulSetSpecEditor", "statefulset spec"), podTemplate("&current.Spec.Template"),
			value("claims", "[]corev1.PersistentVolumeClaim", "volume claim templates", "&current.Spec.VolumeClaimTemplates"),
		},
	},
	{
		Package: "daemonset", Kind: "DaemonSet", Go: "appsv1.DaemonSet", Status: "Alive",
		Handlers: workload, Graded: true, Suspend: deletion,
		Categories: []category{metadata, spec("EditDaemonSetSpec", "DaemonSetSpecEditor", "daemonset spec"), podTemplate("&current.Spec.Template")},
	},
	{
		Package: "pod", Kind: "Pod", Go: "corev1.Pod", Status: "Alive",
		Handlers: own, Graded: true, Suspend: deletion,
		Categories: []category{metadata, {Embedded: "PodSpec", Titles: "pod spec, " + containers, Target: "&current.Spec"}},
	},
	{
		Package: "job", Kind: "Job", Go: "batchv1.Job", Status: "Completion",
		Handlers: own, Suspend: bySpec,
		Categories: []category{metadata, spec("EditJobSpec", "JobSpecEditor", "job spec"), podTemplate("&current.Spec.Template")},
	},
	{
		Package: "cronjob", Kind: "CronJob", Go: "batchv1.CronJob", Status: "Operational",
		Handlers: own, Suspend: bySpec,
		Categories: []category{
			metadata, spec("EditCronJobSpec", "CronJobSpecEditor", "cronjob spec"),
			edit("job", "EditJobSpec", "JobSpecEditor", "job spec", "&current.Spec.JobTemplate.Spec"), podTemplate("&current.Spec.JobTemplate.Spec.Template"),
		},
	},
	{
		Package: "service", Kind: "Service", Go: "corev1.Service", Status: "Operational", Handlers: own,
		Categories: []category{metadata, spec("EditServiceSpec", "ServiceSpecEditor", "service spec")},
	},
	{
		Package: "ingress", Kind: "Ingress", Go: "networkingv1.Ingress", Status: "Operational",
		Handlers: own, Addressed: true, Categories: []category{metadata, spec("EditIngressSpec", "IngressSpecEditor", "ingress spec")},
	},
	{
		Package: "hpa", Kind: "HorizontalPodAutoscaler", Go: "autoscalingv2.HorizontalPodAutoscaler",
		Status: "Operational", Handlers: own, Suspend: deletion, Categories: []category{metadata, spec("EditHPASpec", "HPASpecEditor", "autoscaler spec")},
	},
	{
		Package: "pvc", Kind: "PersistentVolumeClaim", Go: "corev1.PersistentVolumeClaim", Status: "Operational",
		Handlers: own, Categories: []category{metadata, spec("EditPVCSpec", "PVCSpecEditor", "claim spec")},
	},
	{
		Package: "pv", Kind: "PersistentVolume", Go: "corev1.PersistentVolume", Status: "Operational", ClusterScoped: true,
		Handlers: own, Categories: []category{metadata, spec("EditPVSpec", "PVSpecEditor", "volume spec")},
	},
	{
		Package: "configmap", Kind: "ConfigMap", Go: "corev1.ConfigMap", Status: "Operational",
		Categories: []category{metadata, edit("data", "EditData", "ConfigMapDataEditor", "data", "current")},
	},
	{
		Package: "secret", Kind: "Secret", Go: "corev1.Secret", Status: "Operational",
		Categories: []category{metadata, edit("data", "EditData", "SecretDataEditor", "data", "current")},
	},
	{
		Package: "serviceaccount", Kind: "ServiceAccount", Go: "corev1.ServiceAccount", Status: "Operational",
		Categories: []category{
			metadata, value("pullSecrets", "[]corev1.LocalObjectReference", "image pull secrets", "&current.ImagePullSecrets"),
			value("automount", "*bool", "automount of the token", "&current.AutomountServiceAccountToken"),
		},
	},
	{
		Package: "role", Kind: "Role", Go: "rbacv1.Role", Status: "Operational",
		Categories: []category{metadata, edit("rules", "EditRules", "PolicyRulesEditor", "rules", "&current.Rules")},
	},
	{
		Package: "clusterrole", Kind: "ClusterRole", Go: "rbacv1.ClusterRole", Status: "Operational", ClusterScoped: true,
		Categories: []category{
			metadata, edit("rules", "EditRules", "PolicyRulesEditor", "rules", "&current.Rules"),
			value("aggregation", "*rbacv1.AggregationRule", "aggregation rule", "&current.AggregationRule"),
		},
	},
	{
		Package: "rolebinding", Kind: "RoleBinding", Go: "rbacv1.RoleBinding", Status: "Operational", RoleRef: true,
		Categories: []category{metadata, edit("subjects", "EditSubjects", "BindingSubjectsEditor", "subjects", "&current.Subjects")},
	},
	{
		Package: "clusterrolebinding", Kind: "ClusterRoleBinding", Go: "rbacv1.ClusterRoleBinding", Status: "Operational",
		ClusterScoped: true, RoleRef: true,
		Categories: []category{metadata, edit("subjects", "EditSubjects", "BindingSubjectsEditor", "subjects", "&current.Subjects")},
	},
	{
		Package: "pdb", Kind: "PodDisruptionBudget", Go: "policyv1.PodDisruptionBudget", Status: "Operational",
		Categories: []category{metadata, spec("EditPDBSpec", "PodDisruptionBudgetSpecEditor", "disruption budget spec")},
	},
	{
		Package: "networkpolicy", Kind: "NetworkPolicy", Go: "networkingv1.NetworkPolicy", Status: "Operational",
		Categories: []category{metadata, spec("EditNetworkPolicySpec", "NetworkPolicySpecEditor", "network policy spec")},
	},
	{
		Package: "namespace", Kind: "Namespace", Go: "corev1.Namespace", Status: "Operational", ClusterScoped: true,
		Categories: []category{metadata},
	},
	{
		Package: "crd", Kind: "CustomResourceDefinition", Go: "apiextensionsv1.CustomResourceDefinition", Status: "Operational", ClusterScoped: true,
		Handlers: own, Categories: []category{metadata, spec("EditCRDSpec", "CustomResourceDefinitionSpecEditor", "definition spec")},
	},
}
