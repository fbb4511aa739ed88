// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/job"
	"github.com/component-operator/runtime/pkg/resources/networkpolicy"
	"github.com/component-operator/runtime/pkg/resources/service"
	"github.com/component-operator/runtime/pkg/resources/statefulset"
)

// settings are what all tiers need to know.
func (a application) settings() (resources.Resource, error) {
	return configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: a.metadata("settings"), Data: map[string]string{"database": a.name + "-database", "host": a.Host}}).Build()
}

// isolation lets only the web servers and the migration reach the database.
func (a application) isolation() (resources.Resource, error) {
	client := func(tier string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: a.labels(tier)}}
	}
	return networkpolicy.NewBuilder(&networkingv1.NetworkPolicy{
		ObjectMeta: a.metadata("database"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: a.labels("database")},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{client("web"), client("migration")}}},
		},
	}).Build()
}

func (a application) databaseService() (resources.Resource, error) {
	return service.NewBuilder(&corev1.Service{
		ObjectMeta: a.metadata("database"),
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: a.labels("database"), Ports: []corev1.ServicePort{{Name: "sql", Port: 5432}}},
	}).Build()
}

// database keeps its volume when the application is deleted, because StatefulSets do.
func (a application) database() (resources.Resource, error) {
	database := &appsv1.StatefulSet{
		ObjectMeta: a.metadata("database"),
		Spec: appsv1.StatefulSetSpec{
			ServiceName: a.name + "-database",
			Selector:    &metav1.LabelSelector{MatchLabels: a.labels("database")},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: a.labels("database")},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "database", Image: "example.io/database:17", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				}}},
			},
		},
	}
	return statefulset.NewBuilder(database).WithMutation(statefulset.Mutation{Name: "storage", Mutate: func(m *statefulset.Mutator) error {
		m.EnsureReplicas(1)
		m.EnsureVolumeClaimTemplate(corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To(a.StorageClassName),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: a.Storage}},
			},
		})
		return nil
	}}).Build()
}

// migration brings the schema to the version of the application. A Job cannot be changed, so another version deletes
// the former one and creates it again. A suspended application keeps it, because it would run again otherwise.
func (a application) migration() (resources.Resource, error) {
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "migration", Image: "example.io/tiers:" + a.Version, Args: []string{"migrate", a.Version}}},
	}
	return job.NewBuilder(&batchv1.Job{
		ObjectMeta: a.metadata("migration"),
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: a.labels("migration")}, Spec: pod}},
	}).
		WithPolicies(generic.Policies{Update: inventory.UpdatePolicyRecreate}).
		WithCustomSuspendDeletionDecision(func(*batchv1.Job) bool { return false }).
		WithData(concepts.Into(a.migrated, schemaOf)).Build()
}

// schemaOf returns the version of the schema that a migration has made.
func schemaOf(migration batchv1.Job) (version string, found bool, err error) {
	for _, condition := range migration.Status.Conditions {
		if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
			return migration.Spec.Template.Spec.Containers[0].Args[1], true, nil
		}
	}
	return "", false, nil
}
