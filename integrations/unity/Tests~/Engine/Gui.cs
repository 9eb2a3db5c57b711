// Stand-ins for the inspector's buttons, and for JsonUtility: objects, arrays, texts and numbers into public
// fields.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Text;

namespace UnityEngine
{
    public static class GUILayout
    {
        public static readonly HashSet<string> Pressed = new HashSet<string>();
        public static bool Button(string text) { return Pressed.Remove(text); }
    }

    public static class JsonUtility
    {
        public static T FromJson<T>(string json)
        {
            var reader = new Reader { text = json };
            object read = reader.Value();
            reader.Space();
            if (reader.at != json.Length || !(read is Dictionary<string, object>))
                throw new ArgumentException("JSON parse error");
            return (T)Convert(read, typeof(T));
        }

        static object Convert(object value, Type type)
        {
            if (type == typeof(string)) return value as string ?? "";
            if (type.IsArray)
            {
                var list = value as List<object>;
                if (list == null) return null;
                Array all = Array.CreateInstance(type.GetElementType(), list.Count);
                for (int i = 0; i < list.Count; i++) all.SetValue(Convert(list[i], type.GetElementType()), i);
                return all;
            }
            if (type.IsPrimitive) return value is double ? System.Convert.ChangeType(value, type,
                CultureInfo.InvariantCulture) : Activator.CreateInstance(type);
            var map = value as Dictionary<string, object>;
            object made = Activator.CreateInstance(type);
            foreach (FieldInfo field in type.GetFields(BindingFlags.Instance | BindingFlags.Public))
            {
                object found;
                if (map != null && map.TryGetValue(field.Name, out found)) field.SetValue(made, Convert(found,
                    field.FieldType));
            }
            return made;
        }

        sealed class Reader
        {
            public string text;
            public int at;
            char Next { get { if (at >= text.Length)
                throw new ArgumentException("JSON ends early"); return text[at]; } }
            public void Space() { while (at < text.Length && char.IsWhiteSpace(text[at])) at++; }
            public object Value()
            {
                Space();
                switch (Next)
                {
                    case '{': return Map();
                    case '[': return List();
                    case '"': return Text();
                    default: return Word();
                }
            }
            object Word()
            {
                int start = at;
                while (at < text.Length && ",]} \t\r\n".IndexOf(text[at]) < 0) at++;
                string word = text.Substring(start, at - start);
                if (word == "true") return 1.0;
                if (word == "false") return 0.0;
                if (word == "null") return null;
                double number;
                if (!double.TryParse(word, NumberStyles.Float, CultureInfo.InvariantCulture, out number))
                    throw new ArgumentException("JSON parse error: " + word);
                return number;
            }
            object Map()
            {
                var map = new Dictionary<string, object>();
                at++;
                for (Space(); Next != '}'; Space())
                {
                    string key = Text();
                    Space();
                    if (Next != ':') throw new ArgumentException("JSON: no colon");
                    at++;
                    map[key] = Value();
                    Space();
                    if (Next == ',') { at++; Space(); }
                }
                at++;
                return map;
            }
            object List()
            {
                var list = new List<object>();
                at++;
                for (Space(); Next != ']'; Space())
                {
                    list.Add(Value());
                    Space();
                    if (Next == ',') at++;
                }
                at++;
                return list;
            }
            string Text()
            {
                if (Next != '"') throw new ArgumentException("JSON: no text");
                var read = new StringBuilder();
                for (at++; Next != '"'; at++)
                {
                    if (Next != '\\') { read.Append(Next); continue; }
                    at++;
                    if (Next == 'u') { read.Append((char)int.Parse(text.Substring(at + 1, 4),
                        NumberStyles.HexNumber)); at += 4; }
                    else read.Append(Next == 'n' ? '\n' : Next == 't' ? '\t' : Next);
                }
                at++;
                return read.ToString();
            }
        }
    }
}
