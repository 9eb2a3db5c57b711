using System;
using UnityEngine;
using UnityEngine.Events;

namespace Meshreel
{
    /// <summary>An event with the message of an error.</summary>
    [Serializable]
    public sealed class ReelFailedEvent : UnityEvent<string> { }

    /// <summary>Calls handlers of the game. One that throws is logged, and the others are called
    /// nevertheless.</summary>
    internal static class Handlers
    {
        public static void Call<T>(Action<T> handlers, UnityEvent unityEvent, T sender, UnityEngine.Object context)
        {
            if (handlers != null)
            {
                foreach (Delegate handler in handlers.GetInvocationList())
                {
                    try
                    {
                        ((Action<T>)handler)(sender);
                    }
                    catch (Exception error)
                    {
                        Debug.LogException(error, context);
                    }
                }
            }
            try
            {
                if (unityEvent != null) unityEvent.Invoke();
            }
            catch (Exception error)
            {
                Debug.LogException(error, context);
            }
        }

        public static void Call<T, TValue>(Action<T, TValue> handlers, UnityEvent<TValue> unityEvent, T sender,
            TValue value, UnityEngine.Object context)
        {
            if (handlers != null)
            {
                foreach (Delegate handler in handlers.GetInvocationList())
                {
                    try
                    {
                        ((Action<T, TValue>)handler)(sender, value);
                    }
                    catch (Exception error)
                    {
                        Debug.LogException(error, context);
                    }
                }
            }
            try
            {
                if (unityEvent != null) unityEvent.Invoke(value);
            }
            catch (Exception error)
            {
                Debug.LogException(error, context);
            }
        }
    }
}
