// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// fieldManager is the field manager of the sandbox's own objects.
const fieldManager = "component-operator-sandbox"

// kwokConfig configures how nodes and pods behave.
//
//go:embed cluster/kwok.yaml
var kwokConfig []byte

// clusterObjects exist in every sandbox with controllers.
//
//go:embed cluster/objects.yaml
var clusterObjects []byte

// bootstrapConfig returns the client configuration for the sandbox's own few requests.
func (s *Sandbox) bootstrapConfig() *rest.Config {
	config := s.Config()
	config.UserAgent = fieldManager
	config.QPS = -1
	return config
}

// createObjects creates the nodes and the cluster's own objects. It keeps or updates those of an earlier run in the
// same data folder.
func (s *Sandbox) createObjects(ctx context.Context) error {
	if err := s.applyClusterObjects(ctx); err != nil {
		return err
	}
	for i := range s.options.Nodes {
		_, err := s.client.CoreV1().Nodes().Create(ctx, newNode(i), metav1.CreateOptions{FieldManager: fieldManager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating a node: %w", err)
		}
	}
	return nil
}

func (s *Sandbox) applyClusterObjects(ctx context.Context) error {
	client, err := dynamic.NewForConfig(s.bootstrapConfig())
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(clusterObjects), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the objects of the cluster: %w", err)
		}
		kind := object.GroupVersionKind()
		resources, _ := meta.UnsafeGuessKindToResource(kind)
		_, err := client.Resource(resources).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if apierrors.IsNotFound(err) {
			s.logf("this API server does not know %s: annotated Jobs will not fail, only annotated pods", kind.GroupKind())
			continue
		}
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// newNode returns a node that is ready from the start and has room for the pods of any test.
func newNode(index int) *corev1.Node {
	name := fmt.Sprintf("node-%d", index)
	now := metav1.Now()
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("10k"),
		corev1.ResourceMemory:           resource.MustParse("100Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
				{Type: corev1.NodeHostName, Address: name},
			},
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionTrue,
				Reason:             "SandboxReady",
				Message:            "the node is simulated",
				LastHeartbeatTime:  now,
				LastTransitionTime: now,
			}},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: Version, OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
}

// awaitCluster waits until controllers act on pods and Jobs in the namespace "default".
func (s *Sandbox) awaitCluster(ctx context.Context) error {
	for _, wait := range []struct {
		what  string
		ready func(context.Context) (bool, string)
	}{
		{"the nodes", s.nodesReady},
		{"the service account of the namespace default", func(ctx context.Context) (bool, string) {
			_, err := s.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, fmt.Sprint(err)
		}},
		{"the admission policy", s.jobsAnnotated},
	} {
		if err := s.poll(ctx, wait.what, wait.ready); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sandbox) nodesReady(ctx context.Context) (bool, string) {
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err.Error()
	}
	for _, node := range nodes.Items {
		isReady := func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}
		if !slices.ContainsFunc(node.Status.Conditions, isReady) {
			return false, node.Name + " is not ready"
		}
		if len(node.Spec.Taints) > 0 {
			return false, node.Name + " is tainted " + node.Spec.Taints[0].Key
		}
	}
	return true, ""
}

// jobsAnnotated reports whether the API server enforces the policy for failing Jobs. It returns true if the server does
// not support policies of that kind.
func (s *Sandbox) jobsAnnotated(ctx context.Context) (bool, string) {
	_, err := s.client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		return true, ""
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "sandbox-", Annotations: map[string]string{AnnotationFail: "true"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "none", Image: "none"}},
		}}},
	}
	answer, err := s.client.BatchV1().Jobs(metav1.NamespaceDefault).Create(ctx, job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return false, err.Error()
	}
	return answer.Spec.Template.Annotations[AnnotationFail] == "true", "it is not in force yet"
}
